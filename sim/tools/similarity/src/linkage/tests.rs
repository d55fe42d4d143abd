use super::*;
use proptest::prelude::*;

const METHODS: [Linkage; 4] = [Linkage::Average, Linkage::Single, Linkage::Complete, Linkage::Ward];

fn rows(merges: &[Merge]) -> Vec<(u32, u32, u32)> {
    merges.iter().map(|m| (m.a, m.b, m.size)).collect()
}

/// The definition, cluster by cluster.
fn by_definition(matrix: &Condensed, method: Linkage) -> Vec<Merge> {
    let n = matrix.n();
    let mut d: Vec<Vec<f32>> = (0..n as u32)
        .map(|u| (0..n as u32).map(|v| matrix.get(u, v)).collect())
        .collect();
    let mut clusters: Vec<(usize, u32, u32)> = (0..n).map(|u| (u, u as u32, 1)).collect();
    let mut merges = Vec::new();
    for number in n.. {
        let pairs = (0..clusters.len()).flat_map(|i| (i + 1..clusters.len()).map(move |j| (i, j)));
        let value = |&(i, j): &(usize, usize)| d[clusters[i].0][clusters[j].0];
        // The first of equal pairs, in the order of their names.
        let Some((i, j)) = pairs.reduce(|best, pair| if value(&pair) < value(&best) { pair } else { best }) else {
            return merges;
        };
        let height = value(&(i, j));
        let ((a, a_number, a_size), (b, b_number, b_size)) = (clusters[i], clusters[j]);
        for &(c, _, c_size) in &clusters {
            let value = method.update(d[a][c], d[b][c], height, [a_size, b_size, c_size].map(f64::from));
            (d[a][c], d[c][a]) = (value, value);
        }
        let size = a_size + b_size;
        let (first, second) = (a_number.min(b_number), a_number.max(b_number));
        merges.push(Merge {
            a: first,
            b: second,
            height,
            size,
        });
        clusters[i] = (a, number as u32, size);
        clusters.remove(j);
    }
    merges
}

proptest! {
    #[test]
    fn merges_are_those_of_the_definition(
        values in prop::collection::vec(prop_oneof![(0u8..6).prop_map(f32::from), 0.0f32..9.0], 0..300),
        method in prop::sample::select(&METHODS[..]),
    ) {
        let n = (1..).take_while(|n| n * (n - 1) / 2 <= values.len()).last().unwrap_or(1);
        let matrix = Condensed::new(n, values[..n * (n - 1) / 2].to_vec());
        let merges = linkage(matrix.clone(), method);
        prop_assert_eq!(&merges, &by_definition(&matrix, method));
        prop_assert!(merges.windows(2).all(|pair| pair[0].height <= pair[1].height));
        prop_assert_eq!(merges.len(), n - 1);
        prop_assert!(merges.last().is_none_or(|last| last.size == n as u32));
    }
}

/// Rows that a reference library gives in double precision.
#[test]
fn small_cases_agree_with_the_reference() {
    let three = Condensed::new(3, vec![3.754774, 2.100524, 2.035613]);
    let merges = linkage(three, Linkage::Average);
    assert_eq!(rows(&merges), [(1, 2, 2), (0, 3, 3)]);
    assert!((merges[1].height - 2.927649).abs() < 1e-5);

    let four = Condensed::new(4, vec![1.784898, 2.078177, 2.33678, 0.944677, 0.863554, 1.728482]);
    let merges = linkage(four, Linkage::Ward);
    assert_eq!(rows(&merges), [(1, 3, 2), (2, 4, 3), (0, 5, 4)]);
    for (merge, expected) in merges.iter().zip([0.863554, 1.529096, 2.389905]) {
        assert!((merge.height - expected).abs() < 1e-5);
    }
}

#[test]
fn equal_pairs_are_merged_by_smallest_indices() {
    for method in METHODS {
        let merges = linkage(Condensed::from_fn(5, |_, _| 1.0), method);
        assert_eq!((merges[0].a, merges[0].b), (0, 1));
    }
    let average = linkage(Condensed::from_fn(4, |_, _| 1.0), Linkage::Average);
    assert_eq!(rows(&average), [(0, 1, 2), (2, 4, 3), (3, 5, 4)]);
    assert!(linkage(Condensed::from_fn(1, |_, _| 1.0), Linkage::Average).is_empty());
    assert!(linkage(Condensed::from_fn(0, |_, _| 1.0), Linkage::Average).is_empty());
}

#[test]
#[should_panic(expected = "must be finite")]
fn infinite_values_must_be_capped_first() {
    linkage(Condensed::new(2, vec![f32::INFINITY]), Linkage::Average);
}
