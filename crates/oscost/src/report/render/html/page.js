"use strict";
// What the page does beyond being read: charts are unpacked and drawn as they come into sight, tables
// sort, filter and copy, and a row explains its benchmark. No request is made, and nothing is kept.
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const coarse = matchMedia("(pointer: coarse)");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  let printing = false;

  // Base64 of gzip, as text.
  const unpacked = async (id) => {
    const packed = atob(find(id).textContent.trim());
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  // Unpacked once, when it is wanted.
  const once = (make) => { let made; return () => (made ??= make()); };
  const data = once(async () => JSON.parse(await unpacked("data")));
  const library = once(async () => {
    const script = document.createElement("script");
    script.textContent = await unpacked("library");
    document.head.append(script);
    if (!window.Plotly) throw new Error("the script that draws charts did not run");
  });

  // Charts.
  const config = {
    displaylogo: false, showLink: false, plotlyServerURL: "",
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  };
  // Those that have come into sight, and those of which a point can be pressed.
  const drawn = new Set();
  const listened = new WeakSet();
  const template = () => {
    const style = getComputedStyle(root);
    const of = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: of("--line"), linecolor: of("--line"), tickcolor: of("--line") };
    return { layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: of("--ink"), family: "system-ui, DejaVu Sans, sans-serif", size: 12 },
      xaxis: axis, yaxis: axis, hoverlabel: { align: "left" },
      modebar: { color: of("--soft"), bgcolor: "rgba(0,0,0,0)" },
    } };
  };
  // On a phone names stand above their lines, and there the page is moved, not the chart.
  const fitted = (chart, element) => {
    let data = chart.data;
    const layout = structuredClone(chart.layout);
    layout.width = element.clientWidth;
    layout.template = template();
    layout.dragmode = coarse.matches ? false : "zoom";
    if (chart.lines && narrow.matches && !printing) {
      const { tickvals = [], ticktext = [] } = layout.yaxis;
      const [edge] = layout.xaxis.range;
      const x = layout.xaxis.type === "log" ? 10 ** edge : edge;
      const names = {
        type: "scatter", mode: "text", x: tickvals.map(() => x), y: tickvals, text: ticktext,
        textposition: "top right", textfont: { size: 10 }, hoverinfo: "skip", showlegend: false,
      };
      data = [...data, names];
      layout.yaxis.showticklabels = false;
      layout.margin = { l: 8, r: 8, t: 24, b: 48 };
      layout.xaxis.tickangle = 0;
      if (tickvals.length === chart.lines) {
        layout.height = 120 + 30 * chart.lines;
        layout.yaxis.range[1] += 0.4;
      }
    }
    const marks = layout.xaxis.tickvals?.length ?? 0;
    if (layout.width < 640 && marks > 6) {
      for (const name of ["tickvals", "ticktext"]) {
        layout.xaxis[name] = layout.xaxis[name].filter((_, at) => at % 2 === 0);
      }
    }
    if (printing) {
      // As much as a sheet takes: a chart that is cut in two is hard to read.
      layout.width = 690;
      layout.height = Math.min(layout.height, 960);
      layout.legend.font = { size: 9 };
      if (chart.lines > 50) layout.yaxis.tickfont = { size: 8 };
    }
    element.style.height = `${layout.height}px`;
    return [data, layout, { ...config, displayModeBar: narrow.matches ? false : "hover" }];
  };
  const chosen = new Map();
  const inOrder = (chart, which) => {
    const order = chart.orders[which];
    if (!order) return chart;
    const place = new Map(order.rows.map((row, at) => [row, -at]));
    const data = chart.data.map((trace) =>
      ({ ...trace, y: trace.customdata.map((row) => place.get(row)) }));
    const yaxis = { ...chart.layout.yaxis, tickvals: order.at, ticktext: order.text };
    return { ...chart, data, layout: { ...chart.layout, yaxis } };
  };
  const draw = (charts, element) => {
    const chart = inOrder(charts[element.id], chosen.get(element.id) ?? 0);
    window.Plotly.react(element, ...fitted(chart, element));
    if (listened.has(element)) return;
    listened.add(element);
    element.on("plotly_click", (event) => explain(event.points[0].customdata));
  };
  const complain = (error) => {
    const note = find("trouble");
    if (!note) throw error;
    note.textContent = `A chart cannot be drawn: ${error.message}. All figures stand in the tables.`;
    note.hidden = false;
    console.error(error);
  };
  // One that cannot be drawn keeps no other from it.
  const attempt = (charts, element) => {
    try { draw(charts, element); } catch (error) { complain(error); }
  };
  // What was left out of sight until the first charts stood is laid out when there is time: who
  // hears a page, or looks for a word, is not to find less of it than who scrolls.
  const whole = once(() => {
    const later = window.requestIdleCallback ?? setTimeout;
    later(() => root.classList.add("whole"));
    return true;
  });
  const plots = [...document.querySelectorAll(".plot")];
  const charting = once(async () => {
    const [it] = await Promise.all([data(), library()]);
    return it.charts;
  });
  if (plots.length > 0) {
    charting().then((charts) => {
      const seen = new IntersectionObserver((entries) => {
        for (const entry of entries.filter((it) => it.isIntersecting)) {
          seen.unobserve(entry.target);
          drawn.add(entry.target);
          attempt(charts, entry.target);
        }
        performance.mark("oscost-drawn");
        whole();
      }, { rootMargin: "400px" });
      plots.forEach((element) => seen.observe(element));
      const again = () => drawn.forEach((element) => attempt(charts, element));
      // When the window has come to rest; a telephone's bars come and go without a new width.
      let resting, width = innerWidth;
      addEventListener("resize", () => {
        clearTimeout(resting);
        if (innerWidth !== width) resting = setTimeout(() => { width = innerWidth; again(); }, 150);
      });
      dark.addEventListener("change", again);
      document.addEventListener("themechange", again);
      // Paper has no dark, no sight to come into, and a width of its own.
      let theirs;
      addEventListener("beforeprint", () => {
        if (!printing) theirs = root.dataset.theme;
        printing = true;
        root.dataset.theme = "light";
        plots.forEach((element) => attempt(charts, element));
      });
      addEventListener("afterprint", () => {
        printing = false;
        if (theirs) root.dataset.theme = theirs; else delete root.dataset.theme;
        // The others are drawn for the screen when they come into sight.
        for (const element of plots.filter((it) => !drawn.has(it))) {
          element.style.height = `${charts[element.id].layout.height}px`;
        }
        again();
      });
      for (const group of document.querySelectorAll(".orders")) {
        group.hidden = false;
        const buttons = [...group.querySelectorAll("button")];
        buttons.forEach((button, which) => button.addEventListener("click", () => {
          buttons.forEach((it) => it.setAttribute("aria-pressed", String(it === button)));
          chosen.set(group.dataset.of, which);
          attempt(charts, find(group.dataset.of));
        }));
      }
    }).catch((error) => { whole(); complain(error); });
  } else {
    whole();
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
    document.dispatchEvent(new Event("themechange"));
  });

  // What a row says, and what its benchmark is.
  const dialog = find("explain");
  const explain = async (id) => {
    const row = id && find(id);
    if (!row) return;
    const heads = [...row.closest("table").querySelectorAll("thead th")];
    const cells = [...row.cells];
    find("explain-title").textContent = cells[0].textContent;
    const facts = cells.slice(1).map((cell, at) => {
      const pair = document.createElement("div");
      const [name, value] = [document.createElement("dt"), document.createElement("dd")];
      name.textContent = heads[at + 1].textContent;
      value.textContent = cell.textContent;
      pair.append(name, value);
      return pair;
    });
    dialog.querySelector("dl").replaceChildren(...facts);
    dialog.querySelector(".there a").href = `#${id}`;
    // What cannot be unpacked explains nothing; the row is told all the same.
    const known = await data().then((it) => it.explained, () => ({}));
    const is = Object.hasOwn(known, row.dataset.of);
    dialog.querySelector("pre").textContent = is ? known[row.dataset.of] :
      `What ${row.dataset.of} is was not known where this page was made: oscost explain ${row.dataset.of}`;
    if (!dialog.open) dialog.showModal();
  };
  dialog.addEventListener("click", (event) => {
    const there = event.target.closest(".there a");
    if (event.target !== dialog && !there) return;
    dialog.close();
    // A row that is filtered out cannot be gone to.
    const row = there && find(there.hash.slice(1));
    if (row?.hidden) row.closest(".tool").dispatchEvent(new Event("all"));
  });

  // Tables.
  const valueOf = (cell) => cell.dataset.value ?? cell.textContent;
  const sort = (table, at, head) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    const heads = head.parentElement.querySelectorAll("th");
    heads.forEach((it) => it.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const number = head.classList.contains("number");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const text = valueOf(row.cells[at]);
      return { row, text, empty: text === "" || text === "-", number: Number(text) };
    });
    keyed.sort((one, other) => {
      // What is not known comes last, whichever way.
      if (one.empty || other.empty) return one.empty - other.empty;
      const by = number ? one.number - other.number : one.text.localeCompare(other.text);
      return down ? -by : by;
    });
    // One by one: more arguments than a call takes may be there.
    const sorted = document.createDocumentFragment();
    keyed.forEach((it) => sorted.append(it.row));
    body.append(sorted);
  };
  // What a spreadsheet would work out begins with an apostrophe, as in the files that oscost writes.
  const asCsv = (cell) => {
    const text = valueOf(cell);
    if (Number.isFinite(Number(text)) || !/^[=+\-@\t\r]/.test(text)) return text;
    // What is not known is empty.
    return text === "-" ? "" : `'${text}`;
  };
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = (table) => {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.dataset.name);
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    const lines = rows.map((row) => [...row.cells].map(asCsv));
    const text = [heads, ...lines].map((cells) => `${cells.map(quoted).join(",")}\r\n`).join("");
    return [text, rows.length];
  };
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Some browsers keep the clipboard from files: the older way asks nobody.
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
      let left = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word)) && choices.every(([at, list]) =>
          list.value === "" || valueOf(row.cells[at]) === list.value);
        row.hidden = !fits;
        left += fits;
      }
      const all = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
      output.textContent = left === rows.length ? all : `${left} of ${all}`;
    };
    [...table.querySelectorAll("thead th")].forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, at, head));
      head.replaceChildren(button);
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
    for (const row of rows.filter((it) => it.dataset.of)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = row.cells[0].textContent;
      row.cells[0].replaceChildren(button);
      button.addEventListener("click", () => explain(row.id));
    }
    input.addEventListener("input", filter);
    tool.addEventListener("all", () => {
      input.value = "";
      choices.forEach(([, list]) => { list.value = ""; });
      filter();
    });
    copy.addEventListener("click", async () => {
      const [text, count] = csv(table);
      await copied(text).then(
        () => { output.textContent = `${count} rows are on the clipboard`; },
        (error) => { output.textContent = `Not copied: ${error.message}`; });
    });
    tool.querySelector(".tools").hidden = false;
    filter();
  }
})();
