// The module seqtune.wasm behind two calls. It works in a page, in a worker and in Node.

/** A module that can be asked. `bytes`: those of seqtune.wasm. */
export async function load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    const { memory, seqtune_room, seqtune_ask, seqtune_model, seqtune_answer } = instance.exports;

    // what is written there is taken by the call after it; the memory may have grown in between
    const give = (data, call) => {
        const at = seqtune_room(data.length);
        if (at === 0) throw new Error(`there is no memory for ${data.length} bytes`);
        new Uint8Array(memory.buffer, at, data.length).set(data);
        const length = call();
        return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, seqtune_answer(), length)));
    };

    return {
        /** The answer to a question: an object with its name under `ask` (src/web/question.rs). */
        ask: (question) => give(new TextEncoder().encode(JSON.stringify(question)), seqtune_ask),
        /** Takes the bytes of a model's file, and says what the model knows. */
        model: (bytes) => give(bytes, seqtune_model),
    };
}
