// The page: what is typed goes to the worker, what comes back is shown, and the address holds the state.

const at = (id) => document.getElementById(id);
const OWN = "own"; // the choice of limits of one's own
const LIMITS = {
    max_group_items: "work-items of a work-group", max_items_0: "of them, dimension 0", max_items_1: "of them, dimension 1",
    max_items_2: "of them, dimension 2", local_memory: "bytes of local memory of a work-group", group_registers: "32-bit registers of a work-group",
    item_registers: "32-bit registers of a work-item", sub_group: "work-items in lock step", compute_units: "compute units",
    clock_mhz: "highest clock, MHz", cache_bytes: "bytes of the last cache", memory_bytes: "bytes of global memory",
    bandwidth_gbs: "GB/s of memory", f32_gflops: "GFLOP/s in f32", is_cpu: "1 for a CPU, else 0",
    local_memory_opt_in: "bytes of local memory at launch",
};
const FAMILIES = { miopen: "Solvers of MIOpen", triton: "Templates of PyTorch's Triton", hub: "The auto-tuning benchmark hub" };
const MANY = 20; // values from which a list is clearer than buttons

const whole = new Intl.NumberFormat("en-US");
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const waiting = new Map();
let about, model, kernel;
let own = null; // the config of one's own; null follows the first prediction
let notice = ""; // what stands until something else is typed
let jobs = 0;
let answers = {};

/** An element with properties and children. */
const make = (tag, properties = {}, ...children) => {
    const { aria = {}, ...rest } = properties;
    const element = Object.assign(document.createElement(tag), rest);
    Object.entries(aria).forEach(([name, value]) => element.setAttribute(`aria-${name}`, value));
    element.append(...children);
    return element;
};

const ask = (message, transfer = []) => new Promise((then) => {
    const reply = waiting.size + Math.random();
    waiting.set(reply, then);
    worker.postMessage({ reply, ...message }, transfer);
});

const say = (sentence, wrong = false) => {
    at("said").textContent = sentence;
    at("said").classList.toggle("wrong", wrong);
    at("answers").classList.toggle("stale", wrong);
};

// What is asked

const options = (groups, chosen) => groups.filter(([, list]) => list.length).map(([label, list]) =>
    make("optgroup", { label }, ...list.map(([value, text]) => make("option", { value, textContent: text, selected: value === chosen }))));

const show_kernels = (chosen) => {
    const of = (family) => about.kernels.filter((k) => (k.family ?? "") === family).map((k) => [k.name, k.name]);
    const known = (list) => list.map(([name]) => [name, model?.kernels.includes(name) ? `${name}, with predictions` : name]);
    const groups = [["Kernels of this project", known(of(""))], ...Object.entries(FAMILIES).map(([f, label]) => [label, known(of(f))])];
    groups.push(["From disk", known(about.kernels.filter((k) => k.family === "disk").map((k) => [k.name, k.name]))]);
    at("kernel").replaceChildren(...options(groups, chosen));
};

const show_devices = (chosen) => {
    const trained = (model?.devices ?? []).map((d) => [d.name, d.name]);
    const described = about.devices.filter((d) => !trained.some(([name]) => name === d.name));
    const groups = [["The model was trained on", trained], ["Described", described.map((d) => [d.name, `${d.name} (${d.vendor})`])],
        ["Your own", [[OWN, "limits of your own"]]]];
    // answers differ by device: where several may be meant, none is taken
    const none = chosen ? [] : [make("option", { value: "", textContent: "choose a device", selected: true, disabled: true })];
    at("device").replaceChildren(...none, ...options(groups, chosen));
};

const device_of = (name) => [...(model?.devices ?? []), ...about.devices].find((d) => d.name === name);

const show_limits = (values) => {
    at("limit-fields").replaceChildren(...about.limits.map((name) => input(`limit-${name}`, name, LIMITS[name] ?? "", values[name] ?? "")));
};

const input = (id, name, meaning, value) => make("div", {},
    make("label", { htmlFor: id, textContent: name }),
    make("input", { type: "text", id, name, value, inputMode: "decimal", autocomplete: "off", spellcheck: false, aria: { describedby: `${id}-hint` } }),
    make("p", { className: "hint", id: `${id}-hint`, textContent: meaning }));

const show_fields = (values) => {
    at("fields").replaceChildren(...kernel.fields.map((field) => {
        const id = `field-${field.name}`;
        const value = values[field.name] ?? field.begin;
        if (field.kind !== "choice") return input(id, field.name, field.meaning, value);
        const select = make("select", { id, name: field.name, aria: { describedby: `${id}-hint` } },
            ...field.labels.map((label) => make("option", { textContent: label, selected: label === value })));
        return make("div", {}, make("label", { htmlFor: id, textContent: field.name }), select,
            make("p", { className: "hint", id: `${id}-hint`, textContent: field.meaning }));
    }));
};

const typed = (box) => Object.fromEntries([...at(box).querySelectorAll("input, select")].map((e) => [e.name, e.value]));

const subject = () => {
    const device = at("device").value;
    const base = { kernel: kernel.name, problem: typed("fields") };
    return device === OWN ? { ...base, device: null, limits: typed("limit-fields") } : { ...base, device };
};

const show_hints = () => {
    const name = at("device").value;
    const trained = model?.devices.some((d) => d.name === name);
    at("limits").hidden = name !== OWN;
    at("device-hint").textContent = name === OWN ? "" : trained ? "the model was trained on this device" : device_of(name)?.architecture ?? "";
    at("kernel-meaning").textContent = kernel.meaning;
    at("model-hint").textContent = model
        ? `Model: ${model.kernels.join(", ")}, ${whole.format(model.weights)} weights, trained ${model.date}.` : "No model is loaded.";
};

/** Asks for all that is shown. */
const change = () => {
    notice = "";
    show_hints();
    keep();
    if (!at("device").value) {
        jobs += 1;
        answers = {};
        at("answers").hidden = true;
        say(`Choose the device that is asked about: the model learned ${model.devices.map((d) => d.name).join(", ")}.`);
        document.body.dataset.done = jobs;
        return;
    }
    const defaults = Object.fromEntries(kernel.parameters.map((p) => [p.name, p.default]));
    jobs += 1;
    answers = {};
    // for who watches from outside: set once all of the latest job is shown
    delete document.body.dataset.done;
    worker.postMessage({ id: jobs, subject: subject(), top: Number(at("top").value), config: own, defaults });
};

// What is answered

const time = (us) => us === null || us === undefined ? "" : us < 1e3 ? `${us.toFixed(1)} µs` : us < 1e6 ? `${(us / 1e3).toFixed(2)} ms` : `${(us / 1e6).toFixed(2)} s`;

const show_predictions = (answer) => {
    const list = answer.predictions ?? [];
    const doubt = at("doubt");
    const reasons = [];
    if (answer.unknown) reasons.push(`No predictions: ${answer.unknown}. The space is shown all the same.`);
    if (list.length && answer.note) reasons.push(`${answer.note[0].toUpperCase()}${answer.note.slice(1)}.`);
    if (list.length && answer.unsure) reasons.push("The model is unsure: measure the first few.");
    at("on").textContent = list.length ? `On ${answer.device}; learned on ${answer.learned_on.join(", ")} only.` : "";
    doubt.textContent = reasons.join(" ");
    doubt.hidden = reasons.length === 0;
    at("more-line").hidden = list.length === 0;
    at("predictions").replaceChildren(...list.map((one, rank) => {
        const percent = 100 * one.probability;
        const bar = make("span");
        bar.style.inlineSize = `${Math.min(100, percent)}%`;
        const values = Object.entries(one.values).map(([name, value]) =>
            make(rank > 0 && list[0].values[name] !== value ? "b" : "span", { textContent: `${name}=${value}` }));
        const use = make("button", { type: "button", textContent: "Use", aria: { label: `Use config ${rank + 1} below` } });
        use.addEventListener("click", () => choose(one.values));
        return make("li", {},
            make("span", { className: "percent", textContent: `${percent.toFixed(1)} %`, title: "probability that this config is the best" }),
            make("div", { className: "bar", aria: { hidden: true } }, bar),
            make("span", { className: "time", textContent: `${one.time_basis === "bounded" ? "≥ " : ""}${time(one.predicted_us)}`, title: "predicted time" }),
            make("div", { className: "config" }, ...values), use);
    }));
};

const show_space = ({ legal, exact, counted, combinations }) => {
    const number = (n) => n < 2 ** 53 ? whole.format(n) : `about ${n.toExponential(2)}`;
    const share = combinations > 0 && legal > 0 && counted ? ` (${Number((100 * legal / combinations).toPrecision(2))} %)` : "";
    const count = exact ? number(legal) : counted ? number(legal) : `At most ${number(legal)}`;
    at("space").textContent = `${count} of ${number(combinations)} combinations are legal${share}.`;
    at("space").dataset.legal = legal;
};

const STATES = {
    now: "", later: "needs other values below", closed: "no legal config with those above", behind: "open again once the closed value above is changed",
};

/** The value of a parameter that a text stands for; values with labels are texts. */
const value_of = (p, text) => (typeof p.values[0] === "string" ? `${text}` : Number(text));

const parameter = (p, states, values) => {
    const legend = make("legend", { textContent: `${p.name} ` }, make("span", { textContent: p.meaning }));
    const state = (i) => states?.[i] ?? "now";
    if (p.values.length > MANY) {
        const mark = (i) => STATES[state(i)] && `, ${STATES[state(i)]}`;
        const select = make("select", { name: p.name, aria: { label: `${p.name}: ${p.meaning}` } },
            ...p.values.map((v, i) => make("option", { value: v, textContent: `${v}${mark(i)}`, selected: v === values[p.name] })));
        return make("fieldset", {}, legend, select);
    }
    const chip = (v, i) => make("label", { className: state(i), title: STATES[state(i)] },
        make("input", { type: "radio", name: p.name, value: v, checked: v === values[p.name] }),
        make("span", {}, `${v}`), make("span", { className: "unseen", textContent: STATES[state(i)] }));
    return make("fieldset", {}, legend, make("div", { className: "chips" }, ...p.values.map(chip)));
};

const show_config = ({ legal, broken, states, entangled, values }) => {
    const held = document.activeElement?.closest?.("#parameters") && [document.activeElement.name, document.activeElement.value];
    const verdict = at("verdict");
    if (legal) {
        verdict.replaceChildren(make("p", { className: "good", textContent: "Legal." }));
    } else {
        const line = (b) => make("li", {}, `${b.reason}: `, make("code", { textContent: b.expr }), b.values.length ? ` with ${b.values.join(", ")}` : "");
        verdict.replaceChildren(make("p", { className: "bad", textContent: "Illegal:" }), make("ul", {}, ...broken.map(line)));
    }
    if (entangled) verdict.append(make("p", { className: "hint", textContent: `What is still open is not shown: ${entangled}` }));
    // behind a closed value nothing is open, which is no fault of what is chosen there
    const closed = kernel.parameters.findIndex((p, i) => states?.[i][p.values.indexOf(values[p.name])] === "closed");
    const seen = (i) => (closed >= 0 && i > closed ? states[i].map(() => "behind") : states?.[i]);
    at("legend").hidden = !states;
    at("legend-behind").hidden = closed < 0 || closed === kernel.parameters.length - 1;
    at("parameters").dataset.values = JSON.stringify(values);
    at("parameters").replaceChildren(...kernel.parameters.map((p, i) => parameter(p, seen(i), values)));
    // the keyboard stays where it was
    if (held) [...at("parameters").querySelectorAll("input, select")].find((e) => e.name === held[0] && (e.type !== "radio" || e.value === held[1]))?.focus();
    at("follow").hidden = own === null || !answers.predict?.predictions?.length;
};

const blame = (answer) => {
    const box = at("device").value === OWN && about.limits.includes(answer.field) ? "limit" : "field";
    document.querySelectorAll("[aria-invalid]").forEach((e) => e.removeAttribute("aria-invalid"));
    if (answer.field) at(`${box}-${answer.field}`)?.setAttribute("aria-invalid", "true");
};

const SHOW = { predict: show_predictions, config: show_config, space: show_space };

worker.onmessage = ({ data }) => {
    if (data.reply !== undefined) {
        waiting.get(data.reply)?.(data.answer);
        waiting.delete(data.reply);
        return;
    }
    if (data.id !== jobs) return;
    const { part, answer } = data;
    blame(answer);
    if (answer.error) return say(answer.error, true);
    answers[part] = answer;
    say(notice);
    at("answers").hidden = false;
    SHOW[part](answer);
    if (Object.keys(answers).length === Object.keys(SHOW).length) document.body.dataset.done = jobs;
};

worker.onerror = () => say("The predictor could not be started: this browser knows no workers that are modules, or the page lacks worker.js.", true);

const choose = (values) => {
    own = { ...values };
    change();
};

// The address

const pairs = (object) => Object.entries(object).filter(([, v]) => `${v}` !== "").map(([k, v]) => `${k}=${v}`).join(",");
const unpaired = (text) => Object.fromEntries((text ?? "").split(",").filter((p) => p.includes("=")).map((p) => [p.slice(0, p.indexOf("=")), p.slice(p.indexOf("=") + 1)]));

const keep = () => {
    const parts = { kernel: kernel.name, device: at("device").value, problem: pairs(typed("fields")) };
    if (parts.device === OWN) parts.limits = pairs(typed("limit-fields"));
    if (!parts.device) delete parts.device;
    if (own) parts.config = pairs(own);
    if (at("top").value !== "10") parts.top = at("top").value;
    // signs that an address may hold stay readable
    const text = Object.entries(parts).map(([k, v]) => `${k}=${encodeURIComponent(v).replaceAll("%2C", ",").replaceAll("%3D", "=")}`).join("&");
    history.replaceState(null, "", `#${text}`);
};

const told = () => Object.fromEntries(location.hash.slice(1).split("&").filter(Boolean).map((part) => {
    const [name, ...rest] = part.split("=");
    try {
        return [name, decodeURIComponent(rest.join("="))];
    } catch {
        return [name, rest.join("=")];
    }
}));

/** Shows a kernel and what is told of its problem; one that is unknown is said, and the first stays. */
const open = async (state) => {
    const name = state.kernel ?? model?.kernels.find((k) => about.kernels.some((one) => one.name === k)) ?? about.kernels[0].name;
    const answer = await ask({ question: { ask: "kernel", kernel: name } });
    if (answer.error) {
        if (!kernel) await open({ ...state, kernel: undefined, config: undefined });
        say(answer.error, true);
        return;
    }
    kernel = answer;
    show_kernels(kernel.name);
    const several = model?.devices.length > 1;
    const device = state.device || (several ? "" : model?.devices[0]?.name ?? about.devices[0].name);
    const is_known = !device || device === OWN || device_of(device);
    show_devices(is_known ? device : several ? "" : (model?.devices[0] ?? about.devices[0]).name);
    show_limits(state.limits ? unpaired(state.limits) : device_of(device)?.limits ?? about.devices[0].limits);
    show_fields(unpaired(state.problem));
    if (state.top && [...at("top").options].some((o) => o.value === state.top)) at("top").value = state.top;
    const config = unpaired(state.config);
    own = state.config ? Object.fromEntries(kernel.parameters.map((p) => [p.name, value_of(p, config[p.name] ?? p.default)])) : null;
    change();
    if (!is_known) notice = `No device is called \`${device}\`: ${several ? "choose one of the list" : "the first of the list is taken"}.`;
    if (!is_known && several) say(notice, true);
};

at("kernel").addEventListener("change", () => open({ kernel: at("kernel").value, device: at("device").value, limits: at("device").value === OWN ? pairs(typed("limit-fields")) : undefined }));
at("device").addEventListener("change", () => {
    // one's own limits begin with those of the device before
    change();
    const device = device_of(at("device").value);
    if (device) show_limits(device.limits);
});
at("fields").addEventListener("input", change);
at("limit-fields").addEventListener("input", change);
at("top").addEventListener("change", change);
at("parameters").addEventListener("change", ({ target }) => choose({ ...JSON.parse(at("parameters").dataset.values), [target.name]: value_of(kernel.parameters.find((p) => p.name === target.name), target.value) }));
at("follow").addEventListener("click", () => { own = null; change(); });
at("defaults").addEventListener("click", () => choose(Object.fromEntries(kernel.parameters.map((p) => [p.name, p.default]))));
addEventListener("hashchange", () => open(told()));

at("model-file").addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    if (!file) return;
    const answer = await ask({ model: new Uint8Array(await file.arrayBuffer()) });
    target.value = "";
    if (answer.error) return say(`${file.name}: ${answer.error}`, true);
    model = answer;
    const name = model.kernels.find((k) => about.kernels.some((one) => one.name === k));
    if (!name) return say(`${file.name} is for ${model.kernels.join(", ")}, which is no kernel of this page: load the kernel from disk as well.`, true);
    const stays = model.kernels.includes(kernel.name);
    open(stays ? { kernel: kernel.name, problem: pairs(typed("fields")) } : { kernel: name });
});

at("kernel-file").addEventListener("change", async ({ target }) => {
    // a base lies one folder above the kernels of its family, and is called so
    const named = (f) => (f.name.endsWith(".toml") && f.name !== "kernel.toml" ? `../${f.name}` : f.name);
    const files = Object.fromEntries(await Promise.all([...target.files].map(async (f) => [named(f), await f.text()])));
    target.value = "";
    if (!Object.keys(files).length) return;
    const answer = await ask({ question: { ask: "open", files } });
    if (answer.error) return say(answer.error, true);
    about.kernels = [...about.kernels.filter((k) => k.name !== answer.kernel), { name: answer.kernel, family: "disk" }];
    open({ kernel: answer.kernel, device: at("device").value });
});

about = await ask({ question: { ask: "about" } });
if (about.error) {
    say(about.error, true);
} else {
    model = about.model;
    at("version").textContent = `seqtune ${about.version}.`;
    open(told());
}
