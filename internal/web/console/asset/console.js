// The script of the console. Pages work without it; it adds local times, copying, sorting, tips of charts and parts that stay
// up to date.
"use strict";

(() => {
	// home is the path of the start page: / or the path of publicUrl. base is the address of the API for this browser.
	const [home] = document.querySelector("link[rel=icon]").getAttribute("href").split("console/asset/");
	const base = location.origin + home.slice(0, -1);

	const time = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" });
	const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
	const hour = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
	const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
	const month = new Intl.DateTimeFormat(undefined, { month: "short", year: "numeric" });

	// localTimes shows times in the visitor's time zone. UTC is in the title.
	function localTimes(root) {
		for (const e of root.querySelectorAll("time[data-time]")) {
			const at = new Date(e.dateTime);
			if (Number.isNaN(at.getTime())) continue;
			const layout = { hour, day, month, exact: time }[e.dataset.time];
			if (e.dataset.time === "due" && at - Date.now() < 1000) e.textContent = "now";
			else if (e.dataset.time === "span") e.textContent = time.formatRange(at, new Date(e.dataset.until));
			else e.textContent = layout ? layout.format(at) : ago(at) ?? time.format(at);
			e.title = (e.dataset.time === "span" || e.dataset.time === "exact" ? (ago(at) ?? "") + "\n" : "").trimStart() + exact.format(at) + "\n" + e.dateTime.replace("T", " ").replace("Z", " UTC");
		}
	}

	// zones names the time zone of a chart.
	function zones(root) {
		const part = time.formatToParts(Date.now()).find((p) => p.type === "timeZoneName");
		for (const e of root.querySelectorAll("[data-zone]")) e.textContent = part.value;
	}

	// ago returns a time of the last or the next hour in words.
	function ago(at) {
		const seconds = Math.round((at.getTime() - Date.now()) / 1000);
		if (Math.abs(seconds) >= 3600) return null;
		if (seconds > -10 && seconds <= 0) return "just now";
		const words = new Intl.RelativeTimeFormat(undefined, { numeric: "always" });
		return Math.abs(seconds) < 60 ? words.format(seconds, "second") : words.format(Math.trunc(seconds / 60), "minute");
	}

	// addresses replaces the server's own address in lines for a shell by the one that this browser uses.
	function addresses(root) {
		for (const e of root.querySelectorAll("code[data-base]")) {
			e.textContent = e.textContent.replaceAll(e.dataset.base, base);
			e.dataset.base = base;
		}
	}

	function sortable(root) {
		for (const table of root.querySelectorAll("table[data-sortable]")) {
			if (table.tBodies[0].rows.length < 2 || table.querySelector("th button")) continue;
			[...table.tHead.rows[0].cells].forEach((head, column) => {
				if ("unsorted" in head.dataset) return;
				const button = document.createElement("button");
				button.type = "button";
				button.textContent = head.textContent;
				head.replaceChildren(button);
				button.addEventListener("click", () => {
					const up = head.getAttribute("aria-sort") !== "ascending";
					for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
					head.setAttribute("aria-sort", up ? "ascending" : "descending");
					const rows = [...table.tBodies[0].rows];
					rows.sort((a, b) => compare(value(a.cells[column]), value(b.cells[column])) * (up ? 1 : -1));
					table.tBodies[0].append(...rows);
				});
			});
		}
	}

	// value returns what a cell is sorted by: its time, its number or its text.
	function value(cell) {
		const at = cell.querySelector("time");
		if (at) return Date.parse(at.dateTime);
		const text = cell.textContent.trim();
		const number = Number(text.replaceAll(",", ""));
		return text !== "" && !Number.isNaN(number) ? number : text.toLowerCase();
	}

	function compare(a, b) {
		if (typeof a === "number" && typeof b === "number") return a - b;
		if (typeof a === "number") return 1;
		if (typeof b === "number") return -1;
		return a.localeCompare(b);
	}

	function copyButtons(root) {
		if (!navigator.clipboard) return; // without TLS; the text can still be selected
		for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
		// What is shown once is what a person came for.
		if (document.activeElement === document.body) root.querySelector("button.primary[data-release]")?.focus();
	}

	// absoluteLinks completes links that are to be sent to others with the address that this browser uses.
	function absoluteLinks(root) {
		for (const link of root.querySelectorAll("[data-absolute]")) link.textContent = new URL(link.textContent.trim(), location.href).href;
	}

	function prepare(root) {
		absoluteLinks(root);
		localTimes(root);
		zones(root);
		addresses(root);
		sortable(root);
		copyButtons(root);
	}

	// Copying
	document.addEventListener("click", async (event) => {
		const button = event.target.closest("button[data-copy]");
		if (!button) return;
		const source = button.dataset.copy ? document.getElementById(button.dataset.copy) : button.parentElement.querySelector("code");
		const label = button.textContent;
		try {
			await navigator.clipboard.writeText(source.textContent);
			button.textContent = "Copied";
			if ("release" in button.dataset) release();
		} catch {
			getSelection().selectAllChildren(source);
			button.textContent = "Press Ctrl+C";
		}
		setTimeout(() => { button.textContent = label; }, 1600);
	});

	// A key that is shown once asks before the page is left, until it is copied.
	const guarded = document.querySelector("[data-guard]");
	function ask(event) {
		event.preventDefault();
		event.returnValue = guarded.dataset.guard;
	}
	function release() { removeEventListener("beforeunload", ask); }
	if (guarded) {
		addEventListener("beforeunload", ask);
		document.addEventListener("copy", release);
	}

	// Texts that a person keeps as a file
	for (const button of document.querySelectorAll("button[data-download]")) {
		button.hidden = false;
		button.addEventListener("click", () => {
			const link = document.createElement("a");
			link.href = URL.createObjectURL(new Blob([document.getElementById(button.dataset.download).textContent], { type: "application/json" }));
			link.download = button.dataset.name;
			link.click();
			setTimeout(() => URL.revokeObjectURL(link.href), 10000);
			release();
		});
	}

	// A page that lost its server says so, keeps what was typed, and looks for the server until it responds.
	const lost = document.getElementById("lost");
	const ended = document.getElementById("ended");
	let wanted = ""; // the page to open when the server responds again
	let search = 0;

	function lose() {
		if (!lost) return;
		lost.hidden = false;
		search ||= setInterval(look, 2000);
	}

	function find() {
		if (!lost) return;
		lost.hidden = true;
		clearInterval(search);
		search = 0;
		if (wanted) location.href = wanted;
	}

	// look asks whether the server responds. It returns false if a form cannot be sent now.
	async function look() {
		let status = 0, session = "";
		try {
			const response = await fetch(home + "console/alive", { cache: "no-store", signal: AbortSignal.timeout(8000) });
			status = response.status;
			session = response.ok ? await response.text() : "";
		} catch { /* the server is lost */ }
		if (status === 0 || status >= 500) {
			lose();
			return false;
		}
		find();
		const out = session === "ended" && !document.querySelector("input[type=password]");
		if (ended) ended.hidden = !out;
		return !out;
	}

	if (lost && !document.querySelector("[data-live]")) {
		setInterval(() => { if (document.visibilityState === "visible" && !search) look(); }, 10000);
	}
	addEventListener("offline", look);
	addEventListener("online", look);

	document.addEventListener("click", (event) => {
		const link = event.target.closest("a[href]");
		if (!link || !search || link.origin !== location.origin || link.target || event.ctrlKey || event.metaKey || event.shiftKey) return;
		event.preventDefault();
		wanted = link.href;
	});

	// A form is sent when the server responds. Otherwise the browser would replace it by an error page of its own.
	const ready = new WeakSet();
	document.addEventListener("submit", async (event) => {
		const form = event.target;
		if (!lost || form.hasAttribute("hx-post") || ready.has(form)) return;
		event.preventDefault();
		const submitter = event.submitter;
		if (!await look()) return;
		if (form.dataset.upload) {
			if (submitter && "look" in submitter.dataset) preview(form, false);
			else upload(form);
			return;
		}
		ready.add(form);
		form.requestSubmit(submitter);
		ready.delete(form);
		const button = form.dataset.busy && form.querySelector("button.primary");
		if (!button) return;
		button.textContent = form.dataset.busy;
		button.disabled = true;
	});

	// A form with one choice sends it at once. The focus is on the choice again when the page is back.
	for (const form of document.querySelectorAll("form[data-auto]")) {
		const choice = form.querySelector("input[type=checkbox]");
		form.querySelector("button").hidden = true;
		form.addEventListener("change", () => {
			sessionStorage.setItem("chosen", location.pathname);
			form.requestSubmit();
		});
		if (sessionStorage.getItem("chosen") === location.pathname) choice.focus();
		sessionStorage.removeItem("chosen");
	}

	// The switch of the menu looks like a button, so Enter works as on a button.
	document.getElementById("menu")?.addEventListener("keydown", (event) => { if (event.key === "Enter") event.target.click(); });

	// A file that was chosen is looked at, and again when the form says something else about it.
	for (const form of document.querySelectorAll("form[data-preview]")) {
		form.addEventListener("change", (event) => {
			const input = event.target;
			if (input.type === "file") document.getElementById("imported").replaceChildren();
			if (input.type === "file") for (const e of form.querySelectorAll("[name=delimiter], [name=delimited]")) e.value = "";
			if (document.getElementById("mapping")) preview(form, input.type === "file" || input.name === "delimiter");
		});
	}

	// preview sends the beginning of a file, and shows what its rows become. whole is whether the form about it is replaced, too.
	const headSize = 2 << 20;
	let sent = new AbortController();
	async function preview(form, whole) {
		const mapping = document.getElementById("mapping"), file = form.elements.file.files[0];
		if (!mapping || !file) return;
		const data = new FormData(form);
		data.delete("file");
		if (whole) for (const name of ["column", "becomes", "delimited"]) data.delete(name);
		if (file.size > headSize) data.append("head", "true");
		data.append("file", file.slice(0, headSize), file.name);
		sent.abort();
		sent = new AbortController();
		let response, text;
		try {
			response = await fetch(form.dataset.preview, { method: "POST", headers: { "HX-Request": "true" }, body: data, signal: sent.signal });
			text = await response.text();
		} catch (error) {
			if (error.name !== "AbortError") lose();
			return;
		}
		if (response.status === 401) {
			look();
			return;
		}
		const part = document.createElement("template");
		part.innerHTML = text;
		const first = document.getElementById("first"), next = part.content.getElementById("first");
		if (!whole && first && next) {
			first.replaceChildren(...next.childNodes);
			prepare(first);
			return;
		}
		const name = document.activeElement?.name; // the delimiter keeps the focus
		mapping.replaceChildren(part.content);
		prepare(mapping);
		if (name && name !== "file") form.elements[name]?.focus?.();
	}

	// upload sends the file of a form and shows how far it is. The server imports it while it arrives.
	function upload(form) {
		const box = form.querySelector("[data-progress]"), bar = box.querySelector("progress"), text = box.querySelector("p");
		const button = form.querySelector("button.primary"), stop = box.querySelector("[data-stop]");
		const request = new XMLHttpRequest();
		const leave = (event) => event.preventDefault();
		const end = (message) => {
			removeEventListener("beforeunload", leave);
			button.disabled = false;
			stop.hidden = true;
			text.textContent = message;
		};
		request.open("POST", form.action);
		request.setRequestHeader("HX-Request", "true");
		request.upload.addEventListener("progress", (event) => {
			bar.max = event.total;
			bar.value = event.loaded;
			text.textContent = event.loaded < event.total ? `${mebibytes(event.loaded)} of ${mebibytes(event.total)} MiB` : "Sent. The last lines are being imported.";
		});
		request.addEventListener("load", () => {
			end("");
			box.hidden = true;
			if (request.status === 401) {
				look();
				return;
			}
			const target = document.getElementById(form.dataset.upload);
			target.innerHTML = request.responseText;
			prepare(target);
			target.tabIndex = -1; // Tab goes on from the result
			target.focus({ preventScroll: true });
			target.scrollIntoView({ block: "start" });
		});
		request.addEventListener("error", () => {
			end("The connection was lost. What had arrived is imported. Import the file again: documents with an ID are replaced, not stored twice.");
			look();
		});
		request.addEventListener("abort", () => end("Stopped. What had arrived is imported."));
		stop.onclick = () => request.abort();
		addEventListener("beforeunload", leave);
		stop.hidden = box.hidden = false;
		if (document.activeElement === button) stop.focus(); // a button that is disabled loses it
		button.disabled = true;
		bar.value = 0;
		const data = new FormData(form), file = data.get("file");
		data.delete("file");
		data.append("file", file); // the server imports it while it arrives, so it must know the fields before
		request.send(data);
	}

	function mebibytes(n) { return (n / 1048576).toFixed(1); }

	// Tips of charts
	const tip = document.createElement("div");
	tip.className = "tip";
	tip.hidden = true;
	tip.setAttribute("role", "presentation");
	document.body.append(tip);
	document.addEventListener("pointermove", (event) => {
		const column = event.target.closest?.(".column");
		tip.hidden = !column;
		if (!column) return;
		const at = new Date(column.dataset.at);
		tip.textContent = (column.dataset.layout === "day" ? day : time).format(at) + "\n" + column.dataset.tip;
		const left = event.clientX + 14 + tip.offsetWidth < innerWidth ? event.clientX + 14 : event.clientX - tip.offsetWidth - 14;
		tip.style.left = Math.max(4, left) + "px";
		tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 10) + "px";
	});

	// Showing the password that is typed
	for (const label of document.querySelectorAll("[data-show-password]")) {
		label.hidden = false;
		label.addEventListener("change", (event) => { label.closest("form").elements.password.type = event.target.checked ? "text" : "password"; });
	}

	// The code of a setup link, which the address then no longer shows
	const code = document.querySelector("[data-setup]");
	if (code && (location.hash.length > 1 || code.control.value)) {
		if (location.hash.length > 1) code.control.value = location.hash.slice(1);
		code.hidden = true;
		history.replaceState(null, "", location.pathname);
		document.querySelector("input[autocomplete=new-password]").focus();
	}

	// Parts that stay up to date while the page is visible
	for (const part of document.querySelectorAll("[data-live]")) {
		const timer = setInterval(() => {
			if (part.querySelector("[data-done]")) {
				clearInterval(timer);
				return;
			}
			const busy = part.querySelector("details[open]") || part.contains(document.activeElement);
			if (document.visibilityState === "visible" && !busy) htmx.trigger(part, "live");
		}, Number(part.dataset.live) * 1000);
	}
	document.addEventListener("htmx:sendError", lose);
	document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) find(); });
	document.addEventListener("htmx:responseError", (event) => { if (event.detail.xhr.status >= 500) lose(); });
	document.addEventListener("htmx:afterSwap", (event) => { tip.hidden = true; prepare(event.detail.target); });

	// A notice about what was just done is said once, so its parameter leaves the address.
	if (document.querySelector("[data-done-notice]")) {
		const address = new URL(location.href);
		address.searchParams.delete("done");
		history.replaceState(null, "", address);
	}

	prepare(document);
})();
