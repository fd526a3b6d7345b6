// Asks docs/try/seqtune.wasm in Node what `seqtune` is asked, and compares the answers.
//
//     node scripts/release/web_ask.mjs SEQTUNE        the program to compare with
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { load } from "../../docs/try/seqtune.js";

const program = process.argv[2];
const seqtune = (...words) => JSON.parse(execFileSync(program, [...words, "--json"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
const module = await load(readFileSync("docs/try/seqtune.wasm"));
const model = module.model(readFileSync("docs/try/model.safetensors"));
const about = module.ask({ ask: "about" });
let compared = 0;

const same = (what, found, expected) => {
    compared += 1;
    if (JSON.stringify(found) === JSON.stringify(expected)) return;
    console.error(`${what}: the module says ${JSON.stringify(found)}, the program ${JSON.stringify(expected)}`);
    process.exitCode = 1;
};
const unpaired = (text) => Object.fromEntries(text.split(",").map((pair) => pair.split("=")));

// predictions: the same configs in the same order, with probabilities and times that are the same to the last bit
const trained = model.devices[0].name;
for (const [problem, device] of [["M=300,N=200,K=100", trained], ["M=17,N=4000,K=64,transA=T", trained], ["M=512,N=512,K=512,dtype=f16", "H200"], ["M=1,N=1,K=1", "MI100"]]) {
    const told = seqtune("predict", "models/gemm-cpu", "gemm", problem, "--quality", "fast", "--top", "5", "--device", device);
    const found = module.ask({ ask: "predict", kernel: "gemm", problem: unpaired(problem), device, top: 5 });
    if (found.error) throw new Error(found.error);
    same(`${problem} on ${device}, configs`, found.predictions.map((p) => p.config), told.predictions.map((p) => p.config));
    same(`${problem} on ${device}, unsure`, found.unsure, told.unsure);
    same(`${problem} on ${device}, device`, [found.device, found.device_learned, found.learned_on, found.note ?? undefined], [told.device, told.device_learned, told.learned_on, told.note]);
    same(`${problem} on ${device}, bases of times`, found.predictions.map((p) => p.time_basis), told.predictions.map((p) => p.time_basis));
    found.predictions.forEach((p, i) => {
        same(`${problem} on ${device}, probability ${i}`, p.probability, told.predictions[i].probability);
        same(`${problem} on ${device}, time ${i}`, p.predicted_us ?? null, told.predictions[i].predicted_us ?? null);
    });
}

// every shipped kernel, at the problem that the page begins with: its size, and whether its default config is legal
for (const { name } of about.kernels) {
    const kernel = module.ask({ ask: "kernel", kernel: name });
    const problem = Object.fromEntries(kernel.fields.map((f) => [f.name, f.begin]));
    const text = Object.entries(problem).map(([k, v]) => `${k}=${v}`).join(",");
    // the program refuses a device that the kernel does not exist for
    const { architectures } = kernel;
    const device = about.devices.find((d) => !architectures.length || architectures.includes(d.architecture)).name;
    const told = seqtune("space", name, text, "--device", device);
    const found = module.ask({ ask: "space", kernel: name, problem, device });
    same(`${name}, legal`, [found.exact ? found.legal : null, found.combinations], [told.legal, told.combinations]);
    const config = Object.fromEntries(kernel.parameters.map((p) => [p.name, p.default]));
    const judged = module.ask({ ask: "config", kernel: name, problem, device, config });
    const list = Object.entries(config).map(([k, v]) => `${k}=${v}`).join(",");
    let why = null;
    try {
        why = seqtune("space", name, text, "--device", device, "--check", list).violation;
    } catch (error) {
        why = JSON.parse(error.stdout).violation;
    }
    same(`${name}, default config`, judged.legal, why === null);
    // the program names the first constraint alone
    if (why) same(`${name}, reason`, judged.broken.some((b) => why.startsWith(`${b.reason} (${b.expr}; `)), true);
}

// wrong input: a sentence, and the field
const wrong = module.ask({ ask: "predict", kernel: "gemm", problem: { M: "3x", N: "200", K: "100" }, device: "H200", top: 1 });
same("wrong input", wrong, { error: "field `M`: `3x` is not a whole number from 1 to 65536", field: "M" });
same("no model", module.model(new Uint8Array(20)).error?.length > 0, true);
// the median of 21, after what is computed once
const times = Array.from({ length: 21 }, () => {
    const began = performance.now();
    module.ask({ ask: "predict", kernel: "gemm", problem: { M: "300", N: "200", K: "100" }, device: trained, top: 10 });
    return performance.now() - began;
});
console.log(`a prediction of width 20 takes ${times.sort((a, b) => a - b)[10].toFixed(1)} ms in Node`);
if (!process.exitCode) console.log(`the module answers as the program does: ${compared} comparisons`);
