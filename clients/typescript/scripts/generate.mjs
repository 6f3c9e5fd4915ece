// Writes src/openapi.ts, the types of the API, and src/routes.ts, the method and the path of each operation, from
// openapi/v1.json. With --check, it writes nothing and fails if a file is not up to date.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const root = new URL("../", import.meta.url);
const source = new URL("../../openapi/v1.json", root);
const text = await readFile(source, "utf8");
const document = JSON.parse(text);

const notice = "// Generated from openapi/v1.json by `make clients`. Do not edit it.\n";

// types returns src/openapi.ts.
async function types() {
  // A test that needs no Node compares it with the document.
  const hash = createHash("sha256").update(text).digest("hex");
  return `${notice}// SHA-256 of openapi/v1.json: ${hash}\n\n${astToString(await openapiTS(document))}`;
}

// routes returns src/routes.ts. A POST with an Idempotency-Key is marked, because it can be repeated.
function routes() {
  const lines = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const names = (operation.parameters ?? []).map((p) => p.name ?? document.components.parameters[p.$ref.split("/").pop()].name);
      lines.push(`  ${operation.operationId}: ["${method.toUpperCase()}", "${path}"${names.includes("Idempotency-Key") ? ', "keyed"' : ""}],\n`);
    }
  }
  return `${notice}\nexport const routes = {\n${lines.sort().join("")}} as const;\n`;
}

let stale = false;
for (const [name, text] of [["src/openapi.ts", await types()], ["src/routes.ts", routes()]]) {
  const file = new URL(name, root);
  const before = await readFile(file, "utf8").catch(() => "");
  if (before === text) continue;
  if (process.argv.includes("--check")) {
    stale = true;
    console.error(`clients/typescript/${name} is not up to date: run make clients and commit the file`);
  } else {
    await writeFile(file, text);
  }
}
process.exitCode = stale ? 1 : 0;
