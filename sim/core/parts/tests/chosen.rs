//! Parts inside settings.

use folkmoot_parts::{
    Choosing, Chosen, Component, ComponentType, Holds, Rules, Shape, Value, component, component_type, lines_of,
    text_of,
};
use std::any::Any;
use std::sync::Arc;

/// What says how fast something falls.
trait Fall: Send + Sync {
    fn speed(&self) -> u32;
}

component_type!(Fall, "way to fall", Stone { speed: 9 });

#[component(name = "Stone", about = "as a stone does")]
#[derive(Clone, Debug)]
struct Stone {
    /// How fast.
    #[component(default = 9, in = 1..=10)]
    speed: u32,
}

#[component(name = "Leaf", about = "as a leaf does")]
#[derive(Clone, Debug)]
struct Leaf {}

impl Fall for Stone {
    fn speed(&self) -> u32 {
        self.speed
    }
}

impl Fall for Leaf {
    fn speed(&self) -> u32 {
        1
    }
}

#[component(name = "Autumn", about = "things that fall")]
#[derive(Clone, Debug, PartialEq)]
struct Autumn {
    first: Chosen<dyn Fall>,
    others: Vec<Chosen<dyn Fall>>,
    last: Last,
}

#[component]
#[derive(Clone, Debug, PartialEq)]
enum Last {
    #[default]
    Nothing,
    One {
        #[component(default = Chosen::new(Leaf {}))]
        way: Chosen<dyn Fall>,
    },
}

fn read(text: &str) -> Autumn {
    ron::from_str(text).expect("the text has the shape of the fields")
}

/// Looks leaves up, and nothing else; returns where it was asked.
fn look_up(autumn: &mut Autumn) -> Vec<String> {
    let mut asked = Vec::new();
    autumn.choose(&mut Choosing::new(&mut |what, path| {
        assert_eq!(what, "way to fall");
        asked.push(path.to_owned());
        let leaf = <dyn Fall as Holds<Leaf>>::hold(Leaf {});
        (path != "others.1").then(|| ("Leaf".to_owned(), Box::new(leaf) as Box<dyn Any>))
    }));
    asked
}

#[test]
fn every_part_that_is_written_is_looked_up_where_it_stands() {
    let mut autumn = read("(first: Leaf, others: [Leaf(), Rock(weight: [1]), Leaf], last: One(way: Leaf))");
    let rules: Vec<String> = autumn.broken().into_iter().map(|broken| broken.path).collect();
    let all = ["first", "others.0", "others.1", "others.2", "last.way"];
    assert_eq!(rules, all, "what nobody has looked up is no part");
    assert!(autumn.broken()[2].rule.contains("never looked up, Rock(weight: [1])"));
    assert_eq!(look_up(&mut autumn), all);
    assert!(autumn.broken().is_empty());
    let speeds: Vec<u32> = autumn.others.iter().map(|way| way.speed()).collect();
    assert_eq!(speeds, [1, 9, 1], "what was not found is the kind's default");
    assert_eq!(look_up(&mut autumn), [""; 0], "once is enough");
}

#[test]
fn what_is_not_written_is_the_default_and_needs_no_look_up() {
    let mut autumn = read("(last: One())");
    assert_eq!(look_up(&mut autumn), [""; 0]);
    let Last::One { way } = &autumn.last else {
        panic!("{autumn:?}");
    };
    assert_eq!((autumn.first.speed(), way.speed()), (9, 1));
    let Shape::Fields(fields) = Autumn::shape() else {
        panic!("a struct has fields");
    };
    assert_eq!(fields[0].shape, Shape::Component("way to fall"));
    assert_eq!(fields[0].default.as_deref(), Some("Stone(speed: 9)"));
}

#[test]
fn a_part_made_in_code_keeps_its_own_rules() {
    let autumn = Autumn {
        first: Chosen::new(Stone { speed: 11 }),
        ..Autumn::default()
    };
    let mut rules = Rules::default();
    rules.at("autumn", |rules| autumn.check(rules));
    let broken: Vec<String> = rules.into_broken().iter().map(ToString::to_string).collect();
    assert_eq!(broken, ["autumn.first.speed: must lie in 1..=10, got 11"]);
    assert_ne!(autumn, Autumn::default());
    assert_eq!(autumn.first, Chosen::new(Stone { speed: 11 }));
}

#[test]
fn it_is_written_as_any_other_setting() {
    let autumn = Autumn {
        others: vec![<dyn Fall>::default(), Chosen::new(Leaf {})],
        ..Autumn::default()
    };
    assert_eq!(
        text_of(&autumn),
        "(first: Stone(speed: 9), others: [Stone(speed: 9), Leaf], last: Nothing)"
    );
    let lines = "(
    first: Stone(
        speed: 9,
    ),
    others: [
        Stone(
            speed: 9,
        ),
        Leaf,
    ],
    last: Nothing,
)";
    assert_eq!(lines_of(&autumn), lines);
    assert_eq!(format!("{:?}", autumn.first), "Stone(\n    speed: 9,\n)");
    assert_eq!(Autumn::NAME, "Autumn");
}

#[test]
fn another_kind_of_the_same_name_is_not_taken_for_this_one() {
    let mut autumn = read("(first: Leaf)");
    let other: Arc<dyn Any + Send + Sync> = Arc::new(1);
    autumn.choose(&mut Choosing::new(&mut |_, _| {
        Some(("Leaf".to_owned(), Box::new(Arc::clone(&other))))
    }));
    assert_eq!(autumn.first.speed(), 9);
}
