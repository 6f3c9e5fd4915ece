// Imports and exports documents, with their progress, and erases a person with a receipt.
import { Keepsake, verifyReceipt } from "@keepsake/client";

const keepsake = new Keepsake({ url: process.env.KEEPSAKE_URL ?? "http://localhost:8080", apiKey: process.env.KEEPSAKE_KEY });

function* rows() {
  for (let n = 0; n < 3; n++) yield { id: `roll-${n}`, title: `Roll ${n}`, collection: "sample-rolls" };
}
const result = await keepsake.documents.import(rows(), { onProgress: ({ lines }) => console.log(lines, "lines") });
console.log(result.received, "received,", result.failed, "failed");

let bytes = 0;
const titles: string[] = [];
for await (const document of keepsake.documents.export({ collection: "sample-rolls" }, { onProgress: (p) => (bytes = p.bytes) })) {
  titles.push(document.title);
}
console.log(titles.sort(), bytes > 0);

for await (const document of keepsake.documents.list({ collection: "sample-rolls", limit: 2 })) console.log(document.id);

await keepsake.memories.createMany([{ subjectId: "sample-4711", text: "She sails." }]);
const receipt = await keepsake.subjects.erase("sample-4711");
const signer = await verifyReceipt(receipt, await keepsake.auth.signingKeys());
console.log("erased:", receipt.memories, signer.workspaceId.startsWith("wsp_"));
