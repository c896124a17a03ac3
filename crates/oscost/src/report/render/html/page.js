"use strict";
// The interactive part of the page: charts are unpacked and drawn when they become visible, tables are
// sorted, filtered and copied, and a row opens an explanation of its benchmark. It makes no request and
// stores nothing.
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const coarse = matchMedia("(pointer: coarse)");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  let printing = false;

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
  const library = once(async () => {
    const script = document.createElement("script");
    script.textContent = await unpack("library");
    document.head.append(script);
    if (!window.Plotly) throw new Error("the script that draws charts did not run");
  });

  // Charts.
  const config = {
    displaylogo: false, showLink: false, plotlyServerURL: "",
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  };
  // The charts that have been visible, and those that react to a click on a point.
  const drawn = new Set();
  const clickable = new WeakSet();
  const template = () => {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), tickcolor: colour("--line") };
    return { layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--ink"), family: "system-ui, DejaVu Sans, sans-serif", size: 12 },
      xaxis: axis, yaxis: axis, hoverlabel: { align: "left" },
      modebar: { color: colour("--soft"), bgcolor: "rgba(0,0,0,0)" },
    } };
  };
  // On a narrow screen names are above their lines; on a touch screen a drag scrolls the page.
  const fit = (chart, element) => {
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
      // At most one sheet: a chart across a page break is hard to read.
      layout.width = 690;
      layout.height = Math.min(layout.height, 960);
      layout.legend.font = { size: 9 };
      if (chart.lines > 50) layout.yaxis.tickfont = { size: 8 };
    }
    element.style.height = `${layout.height}px`;
    return [data, layout, { ...config, displayModeBar: narrow.matches ? false : "hover" }];
  };
  const chosen = new Map();
  const reorder = (chart, which) => {
    const order = chart.orders[which];
    if (!order) return chart;
    const position = new Map(order.rows.map((row, at) => [row, -at]));
    const data = chart.data.map((trace) =>
      ({ ...trace, y: trace.customdata.map((row) => position.get(row)) }));
    const yaxis = { ...chart.layout.yaxis, tickvals: order.at, ticktext: order.text };
    return { ...chart, data, layout: { ...chart.layout, yaxis } };
  };
  const draw = (charts, element) => {
    const chart = reorder(charts[element.id], chosen.get(element.id) ?? 0);
    window.Plotly.react(element, ...fit(chart, element));
    if (clickable.has(element)) return;
    clickable.add(element);
    element.on("plotly_click", (event) => explain(event.points[0].customdata));
  };
  const showError = (error) => {
    const note = find("error");
    if (!note) throw error;
    note.textContent = `A chart cannot be drawn: ${error.message}. All figures are in the tables.`;
    note.hidden = false;
    console.error(error);
  };
  // A chart that cannot be drawn does not stop the others.
  const tryDraw = (charts, element) => {
    try { draw(charts, element); } catch (error) { showError(error); }
  };
  // Sections that are not visible are laid out once the first charts are drawn: a screen reader and
  // a text search need the whole page.
  const layOutAll = once(() => {
    const later = window.requestIdleCallback ?? setTimeout;
    later(() => root.classList.add("whole"));
    return true;
  });
  const plots = [...document.querySelectorAll(".plot")];
  const loadCharts = once(async () => {
    const [loaded] = await Promise.all([data(), library()]);
    return loaded.charts;
  });
  if (plots.length > 0) {
    loadCharts().then((charts) => {
      const observer = new IntersectionObserver((entries) => {
        for (const entry of entries.filter((it) => it.isIntersecting)) {
          observer.unobserve(entry.target);
          drawn.add(entry.target);
          tryDraw(charts, entry.target);
        }
        performance.mark("oscost-drawn");
        layOutAll();
      }, { rootMargin: "400px" });
      plots.forEach((element) => observer.observe(element));
      const redraw = () => drawn.forEach((element) => tryDraw(charts, element));
      // When the width has stopped changing; the bars of a phone's browser change only the height.
      let timer, width = innerWidth;
      addEventListener("resize", () => {
        clearTimeout(timer);
        if (innerWidth !== width) timer = setTimeout(() => { width = innerWidth; redraw(); }, 150);
      });
      dark.addEventListener("change", redraw);
      document.addEventListener("themechange", redraw);
      // For printing all charts are drawn, in light colours and at the width of a sheet.
      let chosenTheme;
      addEventListener("beforeprint", () => {
        if (!printing) chosenTheme = root.dataset.theme;
        printing = true;
        root.dataset.theme = "light";
        plots.forEach((element) => tryDraw(charts, element));
      });
      addEventListener("afterprint", () => {
        printing = false;
        if (chosenTheme) root.dataset.theme = chosenTheme; else delete root.dataset.theme;
        // The others are drawn for the screen when they become visible.
        for (const element of plots.filter((it) => !drawn.has(it))) {
          element.style.height = `${charts[element.id].layout.height}px`;
        }
        redraw();
      });
      for (const group of document.querySelectorAll(".orders")) {
        group.hidden = false;
        const buttons = [...group.querySelectorAll("button")];
        buttons.forEach((button, which) => button.addEventListener("click", () => {
          buttons.forEach((it) => it.setAttribute("aria-pressed", String(it === button)));
          chosen.set(group.dataset.of, which);
          tryDraw(charts, find(group.dataset.of));
        }));
      }
    }).catch((error) => { layOutAll(); showError(error); });
  } else {
    layOutAll();
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

  // The cells of a row and the explanation of its benchmark.
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
    dialog.querySelector(".row-link a").href = `#${id}`;
    // Without the unpacked data the row is shown without an explanation.
    const explanations = await data().then((loaded) => loaded.explained, () => ({}));
    const benchmark = row.dataset.of;
    const isKnown = Object.hasOwn(explanations, benchmark);
    dialog.querySelector("pre").textContent = isKnown ? explanations[benchmark] :
      `This page has no explanation of ${benchmark}: run oscost explain ${benchmark}`;
    if (!dialog.open) dialog.showModal();
  };
  dialog.addEventListener("click", (event) => {
    const link = event.target.closest(".row-link a");
    if (event.target !== dialog && !link) return;
    dialog.close();
    // A link cannot scroll to a hidden row, so the filters are cleared.
    const row = link && find(link.hash.slice(1));
    if (row?.hidden) row.closest(".tool").dispatchEvent(new Event("clearfilters"));
  });

  // Tables.
  const valueOf = (cell) => cell.dataset.value ?? cell.textContent;
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
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.dataset.name);
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
})();
