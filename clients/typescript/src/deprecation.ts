// warned are the versions that a warning was printed about, each with its server.
const warned = new Set<string>();

/** warnOfDeprecation prints one warning for each server and version whose responses say that the version is deprecated. */
export function warnOfDeprecation(origin: string, headers: Headers, warn: (message: string) => void): void {
  const deprecation = headers.get("Deprecation");
  if (deprecation === null || deprecation === "false") return;
  const version = headers.get("X-API-Version") ?? "1";
  const name = `${origin} ${version}`;
  if (warned.has(name)) return;
  warned.add(name);
  const sunset = Date.parse(headers.get("Sunset") ?? "");
  const replacement = headers.get("X-API-Replacement-Version");
  const guide = /<([^>]*)>\s*;[^,]*rel="?deprecation"?/.exec(headers.get("Link") ?? "")?.[1];
  let message = `Keepsake at ${origin}: version ${version} of the API is deprecated`;
  if (!Number.isNaN(sunset)) message += ` and ends on ${new Date(sunset).toISOString().slice(0, 10)}`;
  if (replacement !== null) message += `. Version ${replacement} replaces it`;
  if (guide !== undefined) message += `. How to migrate: ${new URL(guide, origin).href}`;
  warn(message);
}
