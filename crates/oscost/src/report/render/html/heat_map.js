"use strict";
// What scripts add to the heat maps of a page, which are drawn without them: a cell is read by the pointer
// or by the arrow keys, and buttons put rows in another order. All texts are set as text.
const activateHeatMaps = ({ maps, made, showCard, hideCard }) => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  // What a path has in each row: where each stroke begins, and how long it is.
  const strokesOf = (path, count) => {
    const rows = Array.from({ length: count }, () => []);
    for (const [, column, row, length] of path.getAttribute("d").matchAll(/M(\d+) (\d+)h(\d+)/g)) {
      rows[row].push([column, length]);
    }
    return rows;
  };

  const activate = (figure, map) => {
    const [bar, field, output] =
      [".orders", ".field", "output"].map((it) => figure.querySelector(it));
    const picture = field.querySelector("svg");
    const head = field.querySelector(".groups");
    const names = field.querySelector(".names");
    const items = names ? [...names.children] : [];
    const bytes = bytesOf(map.cells);
    const [width, height] = [map.columns.length, map.rows.length];
    const paths = [...picture.querySelectorAll("g path")]
      .map((path) => ({ path, rows: strokesOf(path, height) }));
    const order = map.rows.map((_, at) => at);
    // The cell that the arrow keys chose, as its line and its column, and its frame.
    let chosen = null;
    const frame = document.createElementNS(picture.namespaceURI, "rect");
    for (const [name, value] of [["class", "chosen"], ["width", 1], ["height", 1]]) {
      frame.setAttribute(name, value);
    }

    // The ratio of a cell; null if it was not measured.
    const ratioAt = (row, column) => {
      const at = 2 * (row * width + column);
      const code = bytes[at] + 256 * bytes[at + 1];
      return code === 0 ? null : Math.exp((code - map.one) * map.log_step);
    };
    const isNotJudged = (row, column) => map.not_judged.some(([at, first, count]) =>
      at === row && column >= first && column < first + count);
    const textOf = (ratio) => {
      if (ratio === null) return "not measured";
      if (ratio >= 0.1 && ratio < 10) return ratio.toFixed(3);
      return ratio.toPrecision(3);
    };
    const describe = ({ line, column }) => {
      const row = map.rows[order[line]];
      const facts = [
        [map.column_noun, map.columns[column]],
        ["ratio", textOf(ratioAt(order[line], column)) +
          (isNotJudged(order[line], column) ? ", not judged" : "")],
        [`ratio of the whole ${map.row_noun}`, textOf(row.ratio)],
        ["class", row.class],
      ];
      return { title: row.name, facts: facts.filter(([, value]) => value !== "") };
    };

    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * width);
      const line = Math.floor(((event.clientY - box.top) / box.height) * height);
      const isInside = column >= 0 && column < width && line >= 0 && line < height;
      if (!isInside) { hideCard(); return; }
      const { title, facts } = describe({ line, column });
      showCard(title, facts, event.clientX, event.clientY);
    });
    picture.addEventListener("pointerleave", hideCard);

    const choose = (line, column) => {
      chosen = {
        line: Math.max(0, Math.min(height - 1, line)),
        column: Math.max(0, Math.min(width - 1, column)),
      };
      const { title, facts } = describe(chosen);
      output.textContent = [title, ...facts.map(([name, value]) => `${name}: ${value}`)].join(", ");
      frame.setAttribute("x", chosen.column);
      frame.setAttribute("y", chosen.line);
      picture.append(frame);
      const rowPx = picture.getBoundingClientRect().height / height;
      const [top, bottom] = [chosen.line * rowPx, (chosen.line + 1) * rowPx];
      if (top < field.scrollTop) field.scrollTop = top;
      // The names of the groups stay above the cells.
      const room = field.clientHeight - head.offsetHeight;
      if (bottom > field.scrollTop + room) field.scrollTop = bottom - room;
    };
    const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -Infinity], End: [0, Infinity] };
    field.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(MOVES, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const [down, right] = MOVES[event.key];
      if (chosen) choose(chosen.line + down, chosen.column + right); else choose(0, 0);
    });

    const arrange = (compare) => {
      order.sort(compare);
      for (const { path, rows } of paths) {
        const strokes = order.flatMap((row, line) =>
          rows[row].map(([column, length]) => `M${column} ${line}h${length}`));
        path.setAttribute("d", strokes.join(""));
      }
      order.forEach((row) => { if (items[row]) names.append(items[row]); });
      chosen = null;
      frame.remove();
      output.textContent = "";
    };
    const byText = (text) => (one, other) => text(map.rows[one]).localeCompare(text(map.rows[other]));
    // Rows without a ratio come last.
    const byRatio = (one, other) => (map.rows[other].ratio ?? 0) - (map.rows[one].ratio ?? 0);
    const byName = byText((row) => row.name);
    const byClass = byText((row) => row.class);
    const orders = [
      [map.order_name, (one, other) => one - other],
      ["by ratio", byRatio],
      ["by name", byName],
      ["by class", (one, other) => byClass(one, other) || byRatio(one, other)],
    ];
    const buttons = orders.map(([name, compare], at) => {
      const button = made("button", { type: "button", textContent: name });
      button.setAttribute("aria-pressed", String(at === 0));
      button.addEventListener("click", () => {
        buttons.forEach((it) => it.setAttribute("aria-pressed", String(it === button)));
        arrange(compare);
      });
      return button;
    });
    bar.append(...buttons);
    for (const it of [bar, output]) it.hidden = false;
  };

  Object.entries(maps).forEach(([id, map]) => activate(document.getElementById(id), map));
  performance.mark("oscost-maps-ready");
};
