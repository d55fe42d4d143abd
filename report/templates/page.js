"use strict";
(function () {
  // The theme: what the system says until somebody presses the button.
  const root = document.documentElement, theme = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  system.addEventListener("change", label);
  label();

  // A press on the name of an arm brings it forward in its figure; another press undoes that.
  document.querySelectorAll("figure").forEach((figure) => {
    const all = figure.querySelectorAll("[data-arm]");
    figure.addEventListener("click", (event) => {
      const name = event.target.closest("text[data-arm]");
      if (!name) return;
      const arm = name.dataset.arm, again = figure.dataset.chosen === arm;
      if (again) delete figure.dataset.chosen; else figure.dataset.chosen = arm;
      figure.classList.toggle("chosen", !again);
      all.forEach((part) => part.classList.toggle("chosen", !again && part.dataset.arm === arm));
    });
  });

  // What is said of the place that a pointer or a finger is at.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const point = (event) => {
    const spot = event.target.closest && event.target.closest(".spots circle");
    tip.hidden = !spot;
    if (!spot) return;
    tip.textContent = spot.dataset.said;
    const box = tip.getBoundingClientRect(), gap = 14;
    tip.style.left = Math.max(4, Math.min(event.clientX + gap, window.innerWidth - box.width - 4)) + "px";
    tip.style.top = (event.clientY + gap + box.height > window.innerHeight ? event.clientY - gap - box.height : event.clientY + gap) + "px";
  };
  document.querySelectorAll(".spots circle").forEach((spot) => {
    // The browser's own hint would come late, and twice.
    const title = spot.querySelector("title");
    spot.dataset.said = title.textContent;
    spot.setAttribute("aria-label", title.textContent);
    title.remove();
  });
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  window.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Where a page is narrow, cells have their heads beside them.
  document.querySelectorAll(".table table").forEach((table) => {
    const heads = Array.from(table.tHead.rows[0].cells).map((head) => head.textContent);
    table.classList.add("stacked");
    table.querySelectorAll("tbody tr, tfoot tr").forEach((row) => {
      Array.from(row.cells).forEach((cell, at) => {
        if (cell.tagName !== "TD") return;
        cell.dataset.head = heads[at];
        const inner = document.createElement("span");
        inner.append(...cell.childNodes);
        cell.append(inner);
      });
    });
  });

  const few = 10;
  document.querySelectorAll(".table").forEach((box) => {
    const table = box.querySelector("table"), body = table.tBodies[0];
    const heads = Array.from(table.tHead.rows[0].cells);
    let folded = box.classList.contains("folded"), wanted = "";

    // Rows that are folded away or do not hold what is looked for are hidden.
    const show = () => {
      let n = 0, found = 0;
      for (const row of body.rows) {
        const fits = row.textContent.toLowerCase().includes(wanted);
        found += fits ? 1 : 0;
        row.hidden = !fits || (folded && n >= few);
        n += row.hidden ? 0 : 1;
      }
      return [n, found];
    };

    // By number where a cell has a key, else by text; what has neither comes last either way.
    const key = (row, at) => {
      const cell = row.cells[at], of = cell.dataset.key;
      if (of === undefined) return cell.textContent.trim().toLowerCase();
      return of === "" ? null : of === "inf" ? Infinity : of === "-inf" ? -Infinity : Number(of);
    };
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
    heads.forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
        const rows = Array.from(body.rows).map((row) => [key(row, at), row]);
        const none = (value) => value === null || value === "";
        rows.sort(([a], [b]) => none(a) || none(b) ? none(a) - none(b) : up * order(a, b));
        rows.forEach(([, row]) => body.append(row));
        show();
      });
    });

    if (folded) {
      const tools = document.createElement("div");
      tools.className = "tools";
      const input = document.createElement("input");
      input.type = "search";
      input.placeholder = "Filter " + body.rows.length + " rows";
      input.setAttribute("aria-label", "Filter " + table.caption.textContent);
      const fold = document.createElement("button");
      fold.type = "button";
      const tell = () => {
        const [n, found] = show();
        fold.textContent = folded ? "Show all " + found : "Show " + few;
        fold.hidden = folded && n === found;
        fold.setAttribute("aria-expanded", String(!folded));
      };
      input.addEventListener("input", () => { wanted = input.value.trim().toLowerCase(); tell(); });
      fold.addEventListener("click", () => { folded = !folded; tell(); });
      tools.append(input, fold);
      box.prepend(tools);
      tell();
      // Paper has no buttons.
      window.addEventListener("beforeprint", () => { for (const row of body.rows) row.hidden = false; });
      window.addEventListener("afterprint", show);
    }
  });
})();
