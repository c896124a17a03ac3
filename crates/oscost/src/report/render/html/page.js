"use strict";
// The interactive part of the page: charts are sorted and zoomed, and show the figures of a row; tables
// are sorted, filtered and copied; rows and words open their explanations. Without it the page has all
// figures, charts and texts. It makes no request and stores nothing.
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const made = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // Decodes base64 and gzip.
  const unpack = async (id) => {
    const packed = atob(find(id).textContent.trim());
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  // Computes a value at its first use.
  const once = (compute) => { let value; return () => (value ??= compute()); };
  const data = once(async () => JSON.parse(await unpack("data")));

  // Sections that are not visible are laid out a little later: a screen reader and a text search need
  // the whole page.
  (window.requestIdleCallback ?? setTimeout)(() => root.classList.add("whole"));

  // The heading of each column, also of one without a name.
  const headsOf = (table) => [...table.tHead.rows[0].cells];
  // The names and values of a row of a table.
  const titleOf = (head) => head.dataset.title ?? head.firstChild?.textContent.trim() ?? "";
  const factsOf = (row) => {
    const heads = headsOf(row.closest("table"));
    const cells = [...row.cells].slice(1).map((cell, at) => [titleOf(heads[at + 1]), cell.textContent]);
    return cells.filter(([, value]) => value !== "" && value !== "-");
  };

  // The benchmark of a row: its name begins with it, unless it says another.
  const benchmarkOf = (row) => row.dataset.of || row.cells[0].textContent.split(":")[0];

  // Charts: the card of a row, beside the pointer or the name that has the focus.
  const card = made("div", { className: "card", hidden: true, ariaHidden: "true" });
  document.body.append(card);
  const rowAt = (target) => {
    const id = target.closest?.(".rows li")?.querySelector("a")?.hash.slice(1)
      ?? target.closest?.("[data-row]")?.dataset.row;
    return id ? find(id) : null;
  };
  const showFacts = (title, facts, x, y) => {
    const list = facts.flatMap(([name, value]) =>
      [made("dt", { textContent: name }), made("dd", { textContent: value })]);
    card.replaceChildren(made("b", { textContent: title }), made("dl", {}, ...list));
    card.hidden = false;
    const { width, height } = card.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    card.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    card.style.top = `${Math.max(4, Math.min(y + 16, innerHeight - height - 4))}px`;
  };
  const showCard = (row, x, y) =>
    showFacts(row.cells[0].textContent, factsOf(row).slice(0, 12), x, y);
  const hideCard = () => { card.hidden = true; };
  const showFocused = () => {
    const name = document.activeElement;
    const row = name?.matches(".chart :focus-visible") ? rowAt(name) : null;
    const box = name?.getBoundingClientRect();
    if (row) showCard(row, box.left, box.bottom); else hideCard();
  };
  for (const chart of document.querySelectorAll(".chart")) {
    // A finger has no pointer that hovers.
    chart.addEventListener("pointermove", (event) => {
      const row = event.pointerType === "mouse" && event.buttons === 0 ? rowAt(event.target) : null;
      if (row) showCard(row, event.clientX, event.clientY); else showFocused();
    });
    // A pointer at rest leaves, too, when the chart scrolls below it to the name that gets the focus.
    chart.addEventListener("pointerleave", showFocused);
    chart.addEventListener("focusin", showFocused);
    chart.addEventListener("focusout", hideCard);
    chart.addEventListener("click", (event) => {
      const row = rowAt(event.target);
      if (!row || !("of" in row.dataset) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      hideCard();
      explain(row.id);
    });
  }
  // The focus scrolls to a name that is out of sight: its card goes with it.
  addEventListener("scroll", () => { if (!card.hidden) showFocused(); }, { passive: true });

  // Charts: zoom along the horizontal axis, by buttons and by a drag of the mouse.
  const MAX_ZOOM = 50;
  const zooms = new WeakMap();
  const setZoom = (chart, from, to) => {
    const width = Math.max(1 / MAX_ZOOM, Math.min(1, to - from));
    const begin = Math.max(0, Math.min(1 - width, from));
    zooms.set(chart, [begin, begin + width]);
    chart.style.setProperty("--zoom", 1 / width);
    chart.style.setProperty("--from", begin);
    chart.classList.toggle("zoomed", width < 1);
    chart.querySelector(".reset").disabled = width === 1;
  };
  const zoomBy = (chart, factor) => {
    const [from, to] = zooms.get(chart);
    const [middle, half] = [(from + to) / 2, ((to - from) / 2) * factor];
    setZoom(chart, middle - half, middle + half);
  };
  const makeZoom = (chart) => {
    const field = chart.querySelector(".rows, .plane");
    const button = (text, name, act) => {
      const it = made("button", { type: "button", textContent: text, ariaLabel: name });
      it.addEventListener("click", act);
      return it;
    };
    let bar = chart.querySelector(".orders");
    if (!bar) {
      bar = made("div", { className: "orders", role: "group", ariaLabel: "Zoom" });
      chart.querySelector("figcaption").after(bar);
    }
    const reset = button("1:1", "1:1, the whole axis", () => setZoom(chart, 0, 1));
    reset.className = "reset";
    bar.append(made("span", { className: "space" }),
      button("+", "Zoom in", () => zoomBy(chart, 0.5)),
      button("\u2212", "Zoom out", () => zoomBy(chart, 2)), reset);
    bar.hidden = false;
    setZoom(chart, 0, 1);
    let start = null, mark = null;
    // The place of the pointer on the axis, from 0 to 1.
    const place = (event) => {
      const box = field.querySelector(".top .x, .field").getBoundingClientRect();
      return (event.clientX - box.left) / box.width;
    };
    field.addEventListener("pointerdown", (event) => {
      const at = place(event);
      const [from, to] = zooms.get(chart);
      if (event.pointerType !== "mouse" || event.button !== 0 || at < from || at > to) return;
      start = { at, x: event.clientX };
    });
    field.addEventListener("pointermove", (event) => {
      if (!start || Math.abs(event.clientX - start.x) < 8) return;
      event.preventDefault();
      if (!mark) {
        mark = made("div", { className: "select" });
        field.append(mark);
        field.setPointerCapture(event.pointerId);
      }
      const left = field.getBoundingClientRect().left;
      mark.style.left = `${Math.min(start.x, event.clientX) - left}px`;
      mark.style.width = `${Math.abs(event.clientX - start.x)}px`;
    });
    const end = (event) => {
      if (mark) {
        const ends = [start.at, place(event)].sort((one, other) => one - other);
        mark.remove();
        // The click that follows a drag chooses no row.
        field.addEventListener("click", (click) => { click.stopPropagation(); click.preventDefault(); },
          { capture: true, once: true });
        setTimeout(() => field.dispatchEvent(new MouseEvent("click", { cancelable: true })));
        setZoom(chart, ...ends);
      }
      start = null;
      mark = null;
    };
    field.addEventListener("pointerup", end);
    field.addEventListener("pointercancel", () => { mark?.remove(); start = null; mark = null; });
    field.addEventListener("dblclick", () => setZoom(chart, 0, 1));
  };
  document.querySelectorAll(".chart").forEach(makeZoom);

  // Charts: the order of rows. A list that no order divides is that of the first group.
  for (const group of document.querySelectorAll(".chart .orders")) {
    const rows = group.closest(".chart").querySelector(".rows");
    const buttons = [...group.querySelectorAll("[data-rows]")];
    if (!rows || buttons.length === 0) continue;
    const lists = [...rows.querySelectorAll("ol")].map((list) => ({ list, items: [...list.children] }));
    const all = lists.flatMap(({ items }) => items);
    const show = (order) => {
      rows.querySelectorAll("h3").forEach((title) => { title.hidden = order.length > 0; });
      for (const { list, items } of lists) list.replaceChildren(...(order.length > 0 ? [] : items));
      order.forEach((number) => lists[0].list.append(all[number]));
    };
    buttons.forEach((button) => button.addEventListener("click", () => {
      buttons.forEach((it) => it.setAttribute("aria-pressed", String(it === button)));
      show(button.dataset.rows.split(" ").filter(Boolean).map(Number));
    }));
  }

  // Heat maps, on a page that has any. Without the unpacked data they stay as they are.
  if (typeof activateHeatMaps === "function") {
    data().then(({ maps }) => activateHeatMaps({ maps, made, showCard: showFacts, hideCard }), () => {});
  }

  // Light and dark.
  const theme = find("theme");
  const label = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.ariaLabel = `${theme.textContent} colours`;
  };
  theme.hidden = false;
  label();
  dark.addEventListener("change", label);
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });

  // Explanations: of a row its cells and its benchmark, and of a word its text.
  const dialog = find("explain");
  const open = (title, ...content) => {
    find("explain-title").textContent = title;
    dialog.querySelector("div").replaceChildren(...content);
    if (!dialog.open) dialog.showModal();
  };
  const explain = async (id) => {
    const row = id && find(id);
    if (!row) return;
    const facts = factsOf(row).map(([name, value]) => made("div", {},
      made("dt", { textContent: name }), made("dd", { textContent: value })));
    const link = made("p", { className: "row-link" },
      made("a", { href: `#${id}`, textContent: "Its row in the table" }));
    // Without the unpacked data the row is shown without an explanation.
    const explanations = await data().then((loaded) => loaded.explained, () => ({}));
    const benchmark = benchmarkOf(row);
    const isKnown = Object.hasOwn(explanations, benchmark);
    const text = isKnown ? explanations[benchmark] :
      `This page has no explanation of ${benchmark}: run oscost explain ${benchmark}`;
    open(row.cells[0].textContent, made("dl", { className: "facts" }, ...facts), link,
      made("pre", { tabIndex: 0, textContent: text }));
  };
  dialog.addEventListener("click", (event) => {
    const link = event.target.closest(".row-link a");
    if (event.target !== dialog && !link) return;
    dialog.close();
    // A link cannot scroll to a hidden row, so the filters are cleared.
    const row = link && find(link.hash.slice(1));
    if (row?.hidden) row.closest(".tool").dispatchEvent(new Event("clearfilters"));
  });
  // A word that many rows of a table have is a link in the first of them.
  const linkOf = (cell) => cell && getSelection().isCollapsed &&
    [...cell.closest("table").querySelectorAll("td a[href^='#w-']")]
      .find((it) => it.textContent === cell.textContent);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#w-']") ?? linkOf(event.target.closest?.("tbody td"));
    const text = link && find(link.hash.slice(1));
    if (!text || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const copy = text.cloneNode(true);
    copy.removeAttribute("id");
    copy.removeAttribute("tabindex");
    const more = made("p", {}, made("a", { href: "#words", textContent: "All words of this page" }));
    more.firstChild.addEventListener("click", () => dialog.close());
    open("What it means", copy, more);
  });

  // Tables.
  // A value that the text shows is not repeated.
  const valueOf = (cell) => cell.dataset.v || cell.textContent;
  const sort = (table, at, head) => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    const heads = head.parentElement.querySelectorAll("th");
    heads.forEach((it) => it.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const number = head.classList.contains("number");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const text = valueOf(row.cells[at]);
      return { row, text, empty: text === "" || text === "-", number: Number(text) };
    });
    keyed.sort((one, other) => {
      // Empty cells come last in both directions.
      if (one.empty || other.empty) return one.empty - other.empty;
      const order = number ? one.number - other.number : one.text.localeCompare(other.text);
      return descending ? -order : order;
    });
    // One by one: a call with all rows as arguments could exceed the engine's limit.
    const sorted = document.createDocumentFragment();
    keyed.forEach((it) => sorted.append(it.row));
    body.append(sorted);
  };
  // A cell that a spreadsheet would evaluate is escaped with an apostrophe, as in exported CSV files.
  const csvValue = (cell) => {
    const text = valueOf(cell);
    if (Number.isFinite(Number(text)) || !/^[=+\-@\t\r]/.test(text)) return text;
    // An unknown value is empty.
    return text === "-" ? "" : `'${text}`;
  };
  const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = (table) => {
    const heads = headsOf(table).map((head) => head.dataset.name);
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    const lines = rows.map((row) => [...row.cells].map(csvValue));
    const text = [heads, ...lines].map((cells) => `${cells.map(quote).join(",")}\r\n`).join("");
    return [text, rows.length];
  };
  const copyText = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Some browsers deny the clipboard API to local files; execCommand works there.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      if (!done) throw new Error("the browser does not let this page copy");
    }
  };
  for (const tool of document.querySelectorAll(".tool")) {
    const table = tool.querySelector("table");
    const rows = [...table.tBodies[0].rows];
    const [input, copy, output] = ["input", ".copy", "output"].map((it) => tool.querySelector(it));
    const choices = [];
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const matches = words.every((word) => text.includes(word)) && choices.every(([at, list]) =>
          list.value === "" || valueOf(row.cells[at]) === list.value);
        row.hidden = !matches;
        shown += matches;
      }
      const all = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
      output.textContent = shown === rows.length ? all : `${shown} of ${all}`;
    };
    headsOf(table).forEach((head, at) => {
      if (head.localName !== "th") return;
      const link = head.querySelector("a");
      head.dataset.title = titleOf(head);
      const button = made("button", { type: "button", textContent: head.dataset.title });
      button.addEventListener("click", () => sort(table, at, head));
      head.replaceChildren(button, ...(link ? [link] : []));
      if (!("choice" in head.dataset)) return;
      const values = [...new Set(rows.map((row) => valueOf(row.cells[at])))].sort();
      if (values.length < 2 || values.length > 40) return;
      const list = document.createElement("select");
      list.ariaLabel = `Only this ${button.textContent}`;
      list.append(new Option(`any ${button.textContent}`, ""), ...values.map((it) => new Option(it, it)));
      list.addEventListener("change", filter);
      choices.push([at, list]);
      copy.before(list);
    });
    for (const row of rows.filter((it) => "of" in it.dataset)) {
      // With the places where its name may be broken.
      const button = made("button", { type: "button" }, ...row.cells[0].childNodes);
      row.cells[0].append(button);
      button.addEventListener("click", () => explain(row.id));
    }
    input.addEventListener("input", filter);
    tool.addEventListener("clearfilters", () => {
      input.value = "";
      choices.forEach(([, list]) => { list.value = ""; });
      filter();
    });
    copy.addEventListener("click", async () => {
      const [text, count] = csv(table);
      await copyText(text).then(
        () => { output.textContent = `${count} rows are on the clipboard`; },
        (error) => { output.textContent = `Not copied: ${error.message}`; });
    });
    tool.querySelector(".tools").hidden = false;
    filter();
  }
  performance.mark("oscost-ready");
})();
