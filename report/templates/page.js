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
