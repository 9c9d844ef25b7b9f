"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SIZE = 25, LEVELS = 35;
  const at = (id) => document.getElementById(id);
  const fixed = [["text", "Number of the text in its source."], ["beginning", "The first words; opens the text."], ["label", "What the data say."], ["predicted", "What the model says."]];
  const classed = !data.tagging && data.classes.length > 0; // a sentence has a label a word, and a number is no class
  if (!classed) fixed.length = 2;
  const FIXED = fixed.length;
  const columns = [...fixed.map(([name, meaning]) => ({ name, meaning })), ...data.columns];
  const judged = data.judged || {}, outcomes = data.outcomes || [];
  const OUTCOME = FIXED, RIGHT = FIXED + (outcomes.length ? 2 : 0); // with E19, its two columns come first
  const sorting = { column: 0, direction: 1 };
  const decimal = columns.map((_, index) => data.rows.some((row) => typeof row[index] === "number" && !Number.isInteger(row[index])));
  let page = 0, shown = data.rows;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function written(value, decimals) {
    return value === null ? "–" : (decimals ? value.toFixed(3) : String(value)).replace("-", "−");
  }

  function labelled(row) {
    return row[2] === null ? "–" : data.classes[row[2]];
  }

  function compare(a, b) {
    const [x, y] = [a[sorting.column], b[sorting.column]];
    if (x === null || y === null) return (x === null) - (y === null); // undefined ones last, whichever way
    return sorting.direction * (typeof x === "string" ? x.localeCompare(y) : x - y);
  }

  function matches(row) {
    const words = at("find").value.trim().toLowerCase();
    const [label, predicted, decided] = ["label", "predicted", "decided"].map((id) => at(id).value);
    const text = data.texts[row[0]] ? data.texts[row[0]].tokens.join(" ") : row[1];
    const outcome = at("outcome").value;
    return (outcome === "" || row[OUTCOME] === outcome) && (!words || String(row[0]) === words || text.toLowerCase().includes(words))
      && (decided === "" || (decided === "right") === (data.tagging ? row[RIGHT] === 1 : row[2] === row[3]))
      && (!classed || ((label === "" || row[2] === Number(label)) && (predicted === "" || row[3] === Number(predicted))));
  }

  function select() {
    shown = data.rows.filter(matches).sort(compare);
    page = 0;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / SIZE));
    const [found, of, total] = [shown.length, data.rows.length, data.total].map((count) => count.toLocaleString("en"));
    const part = data.rows.length < data.total ? ` (an even part of ${total})` : "";
    at("count").textContent = `${found} of ${of} ${data.tagging ? "sentences" : "texts"}${part}, sorted by ${columns[sorting.column].name}.`;
    at("page").textContent = `page ${(page + 1).toLocaleString("en")} of ${pages.toLocaleString("en")}`;
    at("before").disabled = page === 0;
    at("after").disabled = page >= pages - 1;
    document.querySelector(".instances tbody").replaceChildren(...shown.slice(page * SIZE, (page + 1) * SIZE).map(drawRow));
    document.querySelectorAll(".instances thead th").forEach((heading, index) =>
      heading.setAttribute("aria-sort", index !== sorting.column ? "none" : sorting.direction > 0 ? "ascending" : "descending"));
  }

  function drawRow(row) {
    const excerpt = make("td", { class: "excerpt" }), two = judged[row[0]];
    if (two) excerpt.append(marked("marked", two, 1), marked("decides", two, 2));
    if (data.texts[row[0]]) {
      const opener = make("button", { type: "button" }, two ? `open ${data.tagging ? "sentence" : "text"} ${row[0]}` : row[1]);
      opener.addEventListener("click", () => open(row));
      excerpt.append(opener);
    } else if (!two) excerpt.append(row[1]);
    const measures = row.slice(FIXED).map((value, index) => make("td", { class: "n" }, written(value, decimal[FIXED + index])));
    const start = [make("th", { scope: "row" }, String(row[0])), excerpt];
    if (!classed) return make("tr", {}, ...start, ...measures);
    const predicted = make("span", row[2] === null || row[2] === row[3] ? {} : { class: "wrong" }, data.classes[row[3]]);
    return make("tr", {}, ...start, make("td", {}, labelled(row)), make("td", {}, predicted), ...measures);
  }

  function marked(name, words, flag) { // a row of the words of a text: those that are marked, or those that decide
    const drawn = words.flatMap(([text, heat, flags]) => {
      const kinds = flag === 2 ? [flags & 2 && "d"] : [heat && "a", flags & 1 && "first"];
      const word = make("span", { class: ["w", ...kinds, flags & 4 && "asked"].filter(Boolean).join(" ") }, text);
      if (flag === 1 && heat) word.style.setProperty("--w", heat / 10);
      return [word, " "];
    });
    return make("p", { class: "two" }, make("span", { class: flag === 1 ? "of-attention" : "of-decides" }, name), make("span", {}, ...drawn));
  }

  function tagged(text) { // above each word its tag; where it is wrong, the gold tag in brackets
    return text.tokens.flatMap((token, place) => {
      if (text.tags[place] === null) return [token, " "];
      const [predicted, gold] = text.tags[place], wrong = predicted !== gold;
      const tag = data.classes[predicted] + (wrong ? ` (${data.classes[gold]})` : "");
      return [make("ruby", {}, token, make("rt", wrong ? { class: "wrong" } : {}, tag)), " "];
    });
  }

  function open(row) {
    const article = data.tagging
      ? make("article", {}, make("h3", {}, `sentence ${row[0]}`), make("p", { class: "tagged" }, ...tagged(data.texts[row[0]])))
      : explained(row);
    at("opened").replaceChildren(article);
    at("opened").focus();
  }

  function explained(row) {
    const text = data.texts[row[0]], decides = new Set(text.decides), special = new Set(text.special);
    const panels = text.shown.map((explanation) => {
      const words = text.tokens.flatMap((token, place) => {
        const heat = parseInt(explanation.heat[place], 36) / LEVELS;
        const kind = special.has(place) ? { class: "special" } : decides.has(place) ? { class: "decides" } : {};
        return [make("b", { style: `--h:${heat.toFixed(2)}`, ...kind }, token), " "];
      });
      const note = explanation.note ? [make("p", { class: "note" }, explanation.note)] : [];
      return make("div", { class: `panel ${explanation.kind}` }, make("h4", {}, explanation.name), ...note, make("p", { class: "text" }, ...words));
    });
    const title = classed ? `text ${row[0]} · label ${labelled(row)} · predicted ${data.classes[row[3]]}` : `text ${row[0]}`;
    const asked = text.question ? [make("p", { class: "quiet" }, `Question or hypothesis: ${text.question}`)] : [];
    return make("article", {}, make("h3", {}, title), ...asked, make("div", { class: "panels" }, ...panels));
  }

  function follow(event) { // the word pointed at is outlined in every panel of its text
    document.querySelectorAll(".text b.here").forEach((word) => word.classList.remove("here"));
    const word = event.target.closest(".text b");
    if (!word) return;
    const place = [...word.parentNode.children].indexOf(word);
    word.closest(".panels").querySelectorAll(".text").forEach((text) => text.children[place].classList.add("here"));
  }

  columns.forEach((column, index) => {
    const button = make("button", { type: "button", title: column.meaning }, column.name);
    button.addEventListener("click", () => {
      sorting.direction = sorting.column === index ? -sorting.direction : 1;
      sorting.column = index;
      select();
    });
    document.querySelector(".instances thead tr").append(make("th", { scope: "col", ...(index >= FIXED ? { class: "n" } : {}) }, button));
  });
  for (const id of ["label", "predicted"]) at(id).append(...data.classes.map((name, index) => make("option", { value: index }, name)));
  at("outcome").append(...outcomes.map((name) => make("option", { value: name }, name)));
  at("outcome").parentNode.hidden = !outcomes.length;
  for (const id of ["find", "label", "predicted", "decided", "outcome"]) at(id).addEventListener("input", select);
  document.querySelector(".controls-bar").addEventListener("submit", (event) => event.preventDefault());
  at("before").addEventListener("click", () => { page -= 1; draw(); });
  at("after").addEventListener("click", () => { page += 1; draw(); });
  document.addEventListener("pointerover", follow);
  const unlabelled = classed && data.rows.every((row) => row[2] === null);
  for (const id of ["label", "decided"]) at(id).parentNode.hidden = unlabelled || (id === "decided" && !classed && !data.tagging);
  if (!classed) for (const id of ["label", "predicted"]) at(id).parentNode.hidden = true;
  document.querySelector(".instances").classList.toggle("unlabelled", unlabelled);
  at("explorer").hidden = false;
  select();
})();
