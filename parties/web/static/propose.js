// The columns on offer are those of the table that is chosen; what is ticked stays ticked in a table that has it, too.
"use strict";

(() => {
  const table = document.getElementById("table");
  if (!table) return;

  function follow() {
    const ticked = new Set();
    for (const box of document.querySelectorAll("fieldset[data-of]:enabled input:checked")) ticked.add(box.name);
    for (const of of document.querySelectorAll("[data-of]")) {
      const away = Boolean(table.value) && of.dataset.of !== table.value;
      of.disabled = away; // what is not offered is not sent
      if (of.nodeName === "ASIDE") of.hidden = away;
      if (of.nodeName !== "FIELDSET") continue;
      of.hidden = away;
      for (const box of of.querySelectorAll("input")) box.checked = ticked.has(box.name);
    }
  }

  // Another kind of job is chosen by a form of its own: what the job is about goes with it.
  document.getElementById("kind").form.addEventListener("formdata", (event) => {
    for (const name of ["purpose", "peer", "table", "peer_table"]) {
      const value = document.getElementById(name)?.value;
      if (value) event.formData.set(name, value);
    }
  });
  table.addEventListener("change", follow);
  window.addEventListener("pageshow", follow); // a browser that goes back has put into the fields what was there
  follow();
})();
