// The script of the documentation. Pages work without it; it adds copying, and forms that send requests to the API.
"use strict";

(() => {
	// base is the address of the API for this browser.
	const [home] = document.querySelector("link[rel=icon]").getAttribute("href").split("console/asset/");
	const base = location.origin + home.slice(0, -1);

	const credential = document.getElementById("credential");

	// The switch of the menu looks like a button, so Enter works as on a button.
	document.getElementById("menu")?.addEventListener("keydown", (event) => { if (event.key === "Enter") event.target.click(); });

	// copying adds a button to each block of code.
	for (const pre of document.querySelectorAll(".prose pre, .operation-side > pre")) {
		const box = document.createElement("div");
		box.className = "code-box";
		pre.replaceWith(box);
		const button = document.createElement("button");
		button.type = "button";
		button.className = "quiet copy-code";
		button.textContent = "Copy";
		button.addEventListener("click", async () => {
			await navigator.clipboard.writeText(pre.textContent);
			button.textContent = "Copied";
			setTimeout(() => { button.textContent = "Copy"; }, 2000);
		});
		box.append(pre, button);
	}

	for (const code of document.querySelectorAll("pre.curl-line code")) {
		code.textContent = code.textContent.replaceAll("$KEEPSAKE_URL", base);
	}

	const forms = document.querySelectorAll(".try form");
	if (!forms.length) return;
	credential.hidden = false;
	credential.addEventListener("submit", (event) => event.preventDefault());
	for (const form of forms) {
		form.parentElement.hidden = false;
		form.elements.media?.addEventListener("change", () => showExample(form));
		form.addEventListener("input", () => showCommand(form));
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			send(form);
		});
	}

	// request returns what a form describes, without the credential.
	function request(form) {
		let path = form.dataset.path;
		const query = new URLSearchParams();
		const headers = {};
		for (const field of form.querySelectorAll("[data-in]")) {
			const values = field.tagName === "TEXTAREA" ? field.value.split("\n").map((s) => s.trim()).filter(Boolean) : [field.value];
			for (const value of values) {
				if (field.dataset.in === "path") path = path.replace("{" + field.name + "}", value === "" ? "{" + field.name + "}" : encodeURIComponent(value));
				else if (value === "") continue;
				else if (field.dataset.in === "query") query.append(field.name, value);
				else headers[field.name] = value;
			}
		}
		const body = form.elements.body?.value;
		if (body !== undefined) headers["Content-Type"] = form.elements.media.value;
		const text = query.toString();
		return { method: form.dataset.method, target: path + (text ? "?" + text : ""), headers, body };
	}

	// authentication returns the header of a credential. An API key starts with kpsk_; anything else is an access token.
	function authentication(form, value) {
		if (!("credential" in form.dataset) || value === "") return {};
		return value.startsWith("kpsk_") ? { "X-API-Key": value } : { Authorization: "Bearer " + value };
	}

	// showExample replaces an example of a body by that of the media type that was chosen. What was typed stays.
	function showExample(form) {
		const { media, body } = form.elements;
		const examples = [...media.options].map((o) => o.dataset.example);
		if (!examples.includes(body.value)) return;
		body.value = examples[media.selectedIndex];
		showCommand(form);
	}

	// showCommand writes the request of a form as a command. The credential is not in it.
	function showCommand(form) {
		const r = request(form);
		const quote = (s) => "'" + s.replaceAll("'", "'\\''") + "'";
		const lines = ["curl" + (r.method === "GET" ? " " : " -X " + r.method + " ") + quote(location.origin + r.target)];
		if ("keys" in form.dataset) lines.push('-H "X-API-Key: $KEEPSAKE_KEY"');
		else if ("tokens" in form.dataset) lines.push('-H "Authorization: Bearer $TOKEN"');
		for (const [name, value] of Object.entries(r.headers)) lines.push("-H " + quote(name + ": " + value));
		if (r.body !== undefined) lines.push("--data-binary " + quote(r.body));
		form.closest(".operation").querySelector("pre.curl-line code").textContent = lines.join(" \\\n  ");
	}

	const longest = 256 * 1024; // of a response that is shown

	async function send(form) {
		const status = form.querySelector(".try-status");
		const answer = form.querySelector(".try-answer");
		const input = credential.elements.credential;
		const value = input.value.trim();
		answer.hidden = true;
		if ("credential" in form.dataset && value === "") {
			status.textContent = "Enter an API key or an access token at the top of this page first.";
			input.focus();
			return;
		}
		const r = request(form);
		const button = form.querySelector(".actions button");
		button.disabled = true;
		status.textContent = "Sending …";
		try {
			const from = performance.now();
			const resp = await fetch(r.target, {
				method: r.method, headers: { ...r.headers, ...authentication(form, value) }, body: r.body,
				credentials: "omit", cache: "no-store", redirect: "manual",
			});
			const [text, whole] = await read(resp);
			const took = Math.round(performance.now() - from);
			status.textContent = `${resp.status} ${resp.statusText}, ${took} ms` + (whole ? "" : ", cut off after 256 KiB");
			form.querySelector(".try-headers").textContent = [...resp.headers].map(([name, v]) => name + ": " + v).join("\n");
			form.querySelector(".try-text").textContent = pretty(resp, text) || "The response has no body.";
			answer.hidden = false;
		} catch {
			status.textContent = "The server did not respond. Check that it is running, and send the request again.";
		}
		button.disabled = false;
	}

	// read returns the text of a response, and whether it is complete.
	async function read(resp) {
		if (!resp.body) return ["", true];
		const reader = resp.body.getReader();
		const decoder = new TextDecoder();
		let text = "";
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return [text + decoder.decode(), true];
			text += decoder.decode(value, { stream: true });
			if (text.length > longest) {
				reader.cancel();
				return [text, false];
			}
		}
	}

	function pretty(resp, text) {
		if (!(resp.headers.get("Content-Type") ?? "").startsWith("application/json")) return text;
		try {
			return JSON.stringify(JSON.parse(text), null, 2);
		} catch {
			return text;
		}
	}
})();
