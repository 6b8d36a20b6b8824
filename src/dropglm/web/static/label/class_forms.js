// Forms that add, rename and remove classes.
import { clear, element, make, quoted } from "./parts.js";

let counts = new Map(); // numbers of labels by class

export function showClassForms(classes) {
  const names = classes.map(([name]) => name);
  for (const id of ["rename-old", "surest-class"]) fillSelect(element(id), names);
  element("rename").hidden = !names.length;
  counts = new Map(classes);
  showRemovable();
  element("work").classList.toggle("starting", names.length < 2);
  element("first-classes").hidden = names.length > 1;
  element("first-classes").textContent = names.length
    ? "Name at least one more class."
    : "Which classes should the texts have? Type the name of the first one and press Enter.";
  element("new-name").placeholder = ["Name of the first class", "Name of the second class"][names.length] || "New class";
}

function fillSelect(select, names) {
  if ([...select.options].map((option) => option.value).join("\n") === names.join("\n")) return;
  const before = select.value;
  clear(select);
  for (const name of names) make(select, "option", name).value = name;
  if (names.includes(before)) select.value = before;
}

function showRemovable() {
  const count = counts.get(element("rename-old").value);
  element("remove").disabled = count !== 0;
  element("remove").title = count ? "This class has labels" : "Remove this class";
}

function endEditing() {
  element("rename-form").hidden = true;
  element("new-class").hidden = false;
  element("rename-new").value = "";
}

export function startClassForms(act) {
  element("new-class").addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = element("new-name").value.trim();
    if (await act("add_class", { name }, { says: `Added the class ${quoted(name)}.`, stays: true })) {
      element("new-name").value = "";
      if (counts.size > 1) element("new-name").blur(); // nobody wants a single class
    }
  });
  element("rename").addEventListener("click", () => {
    element("rename-form").hidden = false;
    element("new-class").hidden = true;
    element("rename-new").focus();
  });
  element("rename-cancel").addEventListener("click", endEditing);
  element("rename-old").addEventListener("change", () => {
    showRemovable();
    element("rename-new").focus();
  });
  element("rename-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const names = { old: element("rename-old").value, new: element("rename-new").value.trim() };
    const says = `Renamed the class ${quoted(names.old)} to ${quoted(names.new)}.`;
    if (await act("rename_class", names, { says, stays: true })) endEditing();
  });
  element("remove").addEventListener("click", async () => {
    const name = element("rename-old").value;
    if (await act("remove_class", { name }, { says: `Removed the class ${quoted(name)}.`, stays: true })) endEditing();
  });
}
