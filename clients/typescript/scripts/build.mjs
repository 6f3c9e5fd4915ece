// Builds the package into dist/: ES modules in esm/, CommonJS in cjs/, each with its types.
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";

const root = new URL("../", import.meta.url);
const at = (path) => new URL(path, root);
const { version } = JSON.parse(await readFile(at("package.json"), "utf8"));

const tsc = (...args) => {
  try {
    execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", ".", ...args], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  } catch (error) {
    console.error(String(error.stdout));
    process.exit(1);
  }
};

await rm(at("dist"), { recursive: true, force: true });
tsc("--outDir", "dist/esm");
tsc("--outDir", "dist/cjs", "--module", "commonjs", "--moduleResolution", "node10");
await mkdir(at("dist/cjs"), { recursive: true });
await writeFile(at("dist/cjs/package.json"), '{ "type": "commonjs" }\n');
for (const folder of ["esm", "cjs"]) {
  const file = at(`dist/${folder}/version.js`);
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"0.0.0"', JSON.stringify(version)));
}
