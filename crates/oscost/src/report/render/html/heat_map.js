"use strict";
// Draws the heat maps of a page: a cell for each row and column, in the colours of the scale beside it.
// Rows are put in another order by buttons, and a cell is read by the pointer or by the arrow keys. All
// texts are drawn or set as text.
const drawHeatMaps = ({ maps, made, showCard, hideCard }) => {
  const root = document.documentElement;
  // The height of a row, by how many there are: up to the first number with names.
  const ROW_PX = [[80, 16], [300, 8], [Infinity, 3]];
  const HEAD_PX = 18;
  const MAX_NAMES_PX = 180;
  // A larger canvas takes too much memory on a screen of high resolution.
  const MAX_PIXELS = 16e6;

  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  // The text, or as much of it as has room.
  const fitted = (pen, text, width) => {
    if (pen.measureText(text).width <= width) return text;
    let end = text.length;
    while (end > 0 && pen.measureText(`${text.slice(0, end)}..`).width > width) end -= 1;
    return end > 0 ? `${text.slice(0, end)}..` : "";
  };

  const drawMap = (figure, map) => {
    const [bar, absent, field, output] =
      [".orders", ".absent", ".field", "output"].map((it) => figure.querySelector(it));
    const canvas = field.querySelector("canvas");
    const pen = canvas.getContext("2d");
    const bytes = bytesOf(map.cells);
    const count = map.columns.length;
    const rowPx = ROW_PX.find(([rows]) => map.rows.length <= rows)[1];
    const hasNames = rowPx >= 12;
    let order = map.rows.map((_, at) => at);
    let place = { namesPx: 0, cellPx: 1 };
    // The cell that the arrow keys chose, as its line and its column.
    let chosen = null;

    // The ratio of a cell; null if it was not measured.
    const ratioAt = (row, column) => {
      const at = 2 * (row * count + column);
      const code = bytes[at] + 256 * bytes[at + 1];
      return code === 0 ? null : Math.exp((code - map.one) * map.log_step);
    };
    // The class of a cell's colour, as in the style sheet.
    const colourOf = (ratio) => {
      if (ratio === null) return "mn";
      const reached = (value) => map.steps.filter((step) => value >= step).length;
      return `m${map.steps.length + (ratio < 1 ? -reached(1 / ratio) : reached(ratio))}`;
    };
    const textOf = (ratio) => {
      if (ratio === null) return "not measured";
      if (ratio >= 0.1 && ratio < 10) return ratio.toFixed(3);
      return ratio.toPrecision(3);
    };

    const draw = () => {
      const width = field.clientWidth;
      const height = HEAD_PX + rowPx * order.length;
      // Before anything else: later the height must not change with the width.
      canvas.style.height = `${height}px`;
      if (width === 0) return;
      const scale = Math.min(devicePixelRatio || 1, Math.sqrt(MAX_PIXELS / (width * height)));
      canvas.width = Math.floor(width * scale);
      canvas.height = Math.floor(height * scale);
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      const style = getComputedStyle(figure);
      const ink = style.getPropertyValue("--ink").trim();
      const colours = {};
      for (const sign of figure.querySelectorAll(".scale i")) {
        colours[sign.className] = getComputedStyle(sign).backgroundColor;
      }
      pen.font = `11px ${style.fontFamily}`;
      pen.textBaseline = "middle";
      const widest = hasNames
        ? Math.max(...map.rows.map((row) => pen.measureText(row.name).width)) + 8 : 0;
      const namesPx = Math.min(widest, MAX_NAMES_PX, width / 3);
      const cellPx = (width - namesPx) / count;
      place = { namesPx, cellPx };
      // Between cells that are large enough there is a gap.
      const gap = cellPx >= 4 && rowPx >= 8 ? 1 : 0;
      order.forEach((row, line) => {
        const y = HEAD_PX + line * rowPx;
        for (let column = 0; column < count; column += 1) {
          pen.fillStyle = colours[colourOf(ratioAt(row, column))];
          const from = namesPx + column * cellPx;
          // Cells that touch overlap a little, so that no seam is seen between them.
          pen.fillRect(from, y, gap ? cellPx - gap : cellPx + 0.5, rowPx - gap);
        }
        if (hasNames) {
          pen.fillStyle = ink;
          pen.fillText(fitted(pen, map.rows[row].name, namesPx - 6), 0, y + rowPx / 2);
        }
      });
      // The groups of columns.
      pen.fillStyle = ink;
      for (let first = 0; first < count;) {
        let end = first + 1;
        while (end < count && map.columns[end].group === map.columns[first].group) end += 1;
        const from = namesPx + first * cellPx;
        pen.fillRect(from, 0, 1, first > 0 ? height : HEAD_PX);
        const room = (end - first) * cellPx - 6;
        pen.fillText(fitted(pen, map.columns[first].group, room), from + 4, HEAD_PX / 2);
        first = end;
      }
      if (chosen) {
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.strokeRect(namesPx + chosen.column * cellPx, HEAD_PX + chosen.line * rowPx,
          Math.max(cellPx, 2), Math.max(rowPx, 2));
      }
    };

    const describe = ({ line, column }) => {
      const row = map.rows[order[line]];
      const facts = [
        [map.column_noun, map.columns[column].name],
        ["ratio", textOf(ratioAt(order[line], column))],
        [`ratio of the whole ${map.row_noun}`, textOf(row.ratio)],
        ["class", row.class],
      ];
      return { title: row.name, facts: facts.filter(([, value]) => value !== "") };
    };
    const cellAt = (event) => {
      const box = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left - place.namesPx) / place.cellPx);
      const line = Math.floor((event.clientY - box.top - HEAD_PX) / rowPx);
      const isInside = column >= 0 && column < count && line >= 0 && line < order.length;
      return isInside ? { line, column } : null;
    };
    canvas.addEventListener("pointermove", (event) => {
      const cell = cellAt(event);
      if (!cell) { hideCard(); return; }
      const { title, facts } = describe(cell);
      showCard(title, facts, event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", hideCard);

    const choose = (line, column) => {
      const last = { line: order.length - 1, column: count - 1 };
      chosen = {
        line: Math.max(0, Math.min(last.line, line)),
        column: Math.max(0, Math.min(last.column, column)),
      };
      const { title, facts } = describe(chosen);
      output.textContent = [title, ...facts.map(([name, value]) => `${name}: ${value}`)].join(", ");
      draw();
      const y = HEAD_PX + chosen.line * rowPx;
      if (y < field.scrollTop) field.scrollTop = y - HEAD_PX;
      if (y + rowPx > field.scrollTop + field.clientHeight) {
        field.scrollTop = y + rowPx - field.clientHeight;
      }
    };
    const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -Infinity], End: [0, Infinity] };
    canvas.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(MOVES, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const [down, right] = MOVES[event.key];
      if (chosen) choose(chosen.line + down, chosen.column + right); else choose(0, 0);
    });

    const byText = (text) => (one, other) => text(map.rows[one]).localeCompare(text(map.rows[other]));
    // Rows without a ratio come last.
    const byRatio = (one, other) => (map.rows[other].ratio ?? 0) - (map.rows[one].ratio ?? 0);
    const byName = byText((row) => row.name);
    const byClass = byText((row) => row.class);
    const orders = [
      ["by ratio", byRatio],
      ["by name", byName],
      ["by class", (one, other) => byClass(one, other) || byRatio(one, other)],
    ];
    const buttons = orders.map(([name, compare], at) => {
      const button = made("button", { type: "button", textContent: name });
      button.setAttribute("aria-pressed", String(at === 0));
      button.addEventListener("click", () => {
        buttons.forEach((it) => it.setAttribute("aria-pressed", String(it === button)));
        order.sort(compare);
        chosen = null;
        output.textContent = "";
        draw();
      });
      return button;
    });
    order.sort(byRatio);
    bar.append(...buttons);
    absent.hidden = true;
    for (const it of [bar, field, output]) it.hidden = false;
    draw();
    new ResizeObserver(draw).observe(field);
    return draw;
  };

  const redraw = Object.entries(maps).map(([id, map]) => drawMap(document.getElementById(id), map));
  const redrawAll = () => redraw.forEach((draw) => draw());
  new MutationObserver(redrawAll).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  for (const media of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(media).addEventListener("change", redrawAll);
  }
  performance.mark("oscost-maps-ready");
};
