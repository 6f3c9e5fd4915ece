"""What a call can raise, and what each error says."""

import os
import sys

from keepsake import APIError, Client, ConnectionFailedError, NotFoundError, RateLimitError, Retry

client = Client(os.environ["KEEPSAKE_URL"], os.environ["KEEPSAKE_KEY"], timeout=10, retry=Retry(retries=5, max_wait=10))

try:
    client.documents.get("never-stored")
except NotFoundError as e:
    print("not found:", e.status, e.code)
except RateLimitError as e:
    print("come back in", e.retry_after, "seconds:", e.policy)
except APIError as e:
    print(e.status, e.code, e.field, e.issue, e.request_id, file=sys.stderr)
except ConnectionFailedError as e:
    print("no answer:", e, file=sys.stderr)

limits = client.rate_limits
if limits and limits.key:
    print("limits are known:", limits.key.remaining <= limits.key.limit)
client.close()
