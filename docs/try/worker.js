// Predictions beside the page, so that typing never waits. Questions are answered at once; of jobs (what is typed) the latest alone.
import { load } from "./seqtune.js";

let files; // the bytes of the module and of the model
const opened = []; // kernels from disk
let module;
let job;

const start = async () => {
    module = await load(files.module);
    opened.forEach((question) => module.ask(question));
    if (files.model) module.model(files.model);
};

const fetched = async (name) => {
    const response = await fetch(new URL(name, import.meta.url));
    if (!response.ok) throw new Error(`${name} could not be fetched (${response.status})`);
    return new Uint8Array(await response.arrayBuffer());
};

/** What `act` gives; a module that fails is started again. */
const guarded = async (act) => {
    try {
        return act();
    } catch (error) {
        console.error(error);
        await start();
        return { error: "the predictor failed on this input, and was started again" };
    }
};

const begin = async () => {
    try {
        const [code, model] = await Promise.all([fetched("seqtune.wasm"), fetched("model.safetensors").catch(() => null)]);
        files = { module: code, model };
        await start();
        return module.ask({ ask: "about" });
    } catch (error) {
        return { error: `the predictor could not be loaded: ${error.message}` };
    }
};

const started = begin();

const work = async () => {
    const { id, subject, top, config, defaults } = job;
    const is_old = () => job.id !== id;
    const tell = (part, answer) => postMessage({ id, part, answer });
    const next = () => new Promise((then) => setTimeout(then)); // lets newer jobs in
    const predicted = await guarded(() => module.ask({ ask: "predict", ...subject, top }));
    tell("predict", predicted);
    if (predicted.error) return;
    await next();
    if (is_old()) return;
    const chosen = config ?? predicted.predictions?.[0]?.values ?? defaults;
    tell("config", { ...(await guarded(() => module.ask({ ask: "config", ...subject, config: chosen }))), values: chosen });
    await next();
    if (is_old()) return;
    tell("space", await guarded(() => module.ask({ ask: "space", ...subject })));
};

onmessage = async ({ data }) => {
    const about = await started;
    if (data.question) {
        const is_told = about.error || data.question.ask === "about";
        const answer = is_told ? about : await guarded(() => module.ask(data.question));
        if (data.question.ask === "open" && !answer.error) opened.push(data.question);
        postMessage({ reply: data.reply, answer });
    } else if (data.model) {
        const answer = await guarded(() => module.model(data.model));
        if (!answer.error) files.model = data.model;
        postMessage({ reply: data.reply, answer });
    } else if (!about.error) {
        const idle = !job;
        job = data;
        if (idle) {
            // until the latest is done
            for (let done; done !== job.id; ) {
                done = job.id;
                await new Promise((then) => setTimeout(then));
                if (done === job.id) await work();
            }
            job = null;
        }
    }
};
