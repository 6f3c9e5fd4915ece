"""Imports and exports documents, with their progress, and erases a person with a receipt."""

import io
import os

from keepsake import Client, models, verify_receipt


def progress(count: int) -> None:
    print(count > 0)


with Client(os.environ["KEEPSAKE_URL"], os.environ["KEEPSAKE_KEY"]) as client:
    rows = ({"id": f"bread-{n}", "title": f"Bread {n}", "collection": "sample-bread"} for n in range(3))
    result = client.documents.import_(rows, progress=progress)
    print(result.received, "received,", result.failed, "failed")
    file = io.BytesIO()
    client.documents.export_to(file, collection="sample-bread")
    print(len(file.getvalue().splitlines()), "exported")
    print(sorted(d.title for d in client.documents.each(collection="sample-bread", limit=2)))

    client.memories.create_many([models.NewMemory(subject_id="sample-4711", text="She sails.")])
    receipt = client.subjects.erase("sample-4711")
    print("erased:", receipt.memories, bool(verify_receipt(receipt, client.auth.signing_keys()).workspace_id))
