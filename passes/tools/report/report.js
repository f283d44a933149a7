(function () {
"use strict";
const BAR = 18, STRIP = 3, SEAM = 0.7, LANE = 24, GAP = 6, LABEL = 15, AXIS = 22, CURVE = 160;
const LEAST = 20; // ticks in view, at least
const NEAR = 0.5; // of the capacity: a smaller peak would be flat below its line
const data = JSON.parse(document.getElementById("data").textContent);
const chart = document.getElementById("chart"), svg = document.getElementById("lanes");
const curve = document.getElementById("curve"), detail = document.getElementById("detail");
const end = Math.max(1, data.end), nd = data.devices.length;
let from = 0, to = end, width = 1, chosen = null, waiting = false;
let colors = "", found = null; // is each op coloured by its "kind" or its "batch"; does it match the search
const STREAMS = ["compute", "communication", "copies to the host", "copies from the host"];
const ns = data.devices.length ? data.devices[0].lanes.length : 2;
let batches = 1; // micro-batches

// Bars come as gaps and durations; starts are their sums.
const lanes = [];
data.devices.forEach(function (device, d) {
	device.lanes.forEach(function (lane, s) {
		let at = 0;
		lane.start = new Float64Array(lane.n);
		for (let i = 0; i < lane.n; i++) {
			lane.start[i] = at + lane.g[i];
			at = lane.start[i] + lane.d[i];
			batches = Math.max(batches, lane.t[i] + 1);
		}
		lane.name = (nd > 1 ? "device " + d + ": " : "") + STREAMS[s];
		lane.y = AXIS + d * (ns * (LABEL + LANE) + GAP) + s * (LABEL + LANE) + LABEL;
		lane.exposed = s === 1 ? device.e : null;
		lane.stream = s;
		lanes.push(lane);
	});
});
const height = AXIS + nd * (ns * (LABEL + LANE) + GAP);

function scaled(x, units) {
	let u = 0;
	while (x > 0 && x < 1 && u + 1 < units.length) { x *= 1000; u++; }
	if (!(x > 0)) return "0";
	return (x >= 999.5 ? x.toFixed(0) : String(Number(x.toPrecision(3)))) + " " + units[u];
}
function seconds(ticks) { return scaled(ticks * data.tick, ["s", "ms", "us", "ns", "ps"]); }
function bytes(b) { return scaled(b / 1e12, ["TB", "GB", "MB", "KB", "B"]); }
function escaped(s) { return s.replace(/&/g, "&amp;").replace(/</g, "&lt;"); }
function byId(id) { return document.getElementById(id); }
function hue(kind) {
	let sum = 0;
	for (const c of kind) sum = (sum * 31 + c.charCodeAt(0)) % 3600;
	return 137 * sum % 360;
}
function color(kind) { return "hsl(" + (typeof kind === "number" ? 360 * kind / batches : hue(kind)) + " var(--hs) var(--hl))"; }
function px(t) { return (t - from) / (to - from) * width; }

// The first bar of a lane that ends behind t.
function first(lane, t) {
	let low = 0, high = lane.n;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (lane.start[mid] + lane.d[mid] <= t) low = mid + 1; else high = mid;
	}
	return low;
}

// A path of bars; those narrower than a pixel are added up in it, its height being how busy it is.
function path(kind, y, h, style) {
	const apart = kind[0] === "k" || kind[0] === "c";
	let text = "", column = -1, sum = 0, last = 0, open = false, count = 0;
	function box(x, w, part) {
		const high = Math.max(1, h * Math.min(1, part));
		text += "M" + x.toFixed(1) + " " + (y + h - high).toFixed(1) + "h" + w.toFixed(1) + "v" +
			high.toFixed(1) + "h-" + w.toFixed(1) + "z";
		count++;
	}
	function flush() { if (open) box(column, 1, sum); open = false; }
	function add(a, b, part) {
		const inside = open && Math.floor(a) === column, edge = Math.floor(a) + 1;
		if (b - a >= 1) {
			// What wide bars have of a pixel is added up, too, where there are narrow ones in it.
			if (inside) sum += column + 1 - a;
			flush();
			a = Math.max(a, -2);
			box(a, Math.min(b, width + 2) - a - (apart && b - a >= 3 ? SEAM : 0), part);
			last = b;
			return;
		}
		if (!inside) {
			flush();
			column = Math.floor(a);
			sum = Math.max(0, last - column);
		}
		sum += (Math.min(b, edge) - a) * part;
		open = true;
		if (b > edge) add(edge, b, part);
	}
	return {
		add: add,
		end: function () { flush(); bars += kind === "p" ? 0 : count; return '<path class="' + kind + '"' + (style ? ' style="' + style + '"' : "") + ' d="' + text + '"/>'; }
	};
}
let bars = 0;

function name(lane, i) {
	const op = data.ops[lane.o[i]];
	return lane.k[i] > 1 ? lane.k[i] + " events" : (op[1] ? op[1] + " = " : "") + op[0];
}

function drawLane(lane) {
	const plain = lane.stream ? "c" : "k", path1 = path("p", lane.y + BAR + 1, STRIP), paths = new Map();
	let labels = "";
	// The path that bar i is part of: bars of one colour, found or not, are drawn together.
	function pathOf(i, wide) {
		const op = data.ops[lane.o[i]], other = found && !found[lane.o[i]];
		const kind = !colors || !wide || lane.k[i] > 1 ? "" : colors === "kind" ? op[0] : lane.t[i];
		const key = kind + (other ? " other" : "");
		if (!paths.has(key))
			paths.set(key, path(plain + (other ? " other" : ""), lane.y, BAR, kind === "" ? "" : "fill:" + color(kind)));
		return paths.get(key);
	}
	pathOf.all = function () { return Array.from(paths.values(), function (p) { return p.end(); }).join(""); };
	for (let i = first(lane, from); i < lane.n && lane.start[i] < to; i++) {
		if (!lane.d[i]) continue;
		const a = px(lane.start[i]), b = px(lane.start[i] + lane.d[i]);
		pathOf(i, b - a >= 1).add(a, b, lane.b[i] / lane.d[i]);
		if (lane.c[i] === "1") path1.add(a, b, 1);
		const left = Math.max(a, 0), room = Math.floor((Math.min(b, width) - left - 6) / 6.2);
		if (room > (colors === "batch" ? 0 : 3)) {
			const label = colors === "batch" ? String(lane.t[i]) : name(lane, i);
			labels += '<text class="t" x="' + (left + 4).toFixed(1) + '" y="' + (lane.y + 13) + '">' +
				escaped(label.length > room ? label.slice(0, room - 1) + "\u2026" : label) + "</text>";
		}
	}
	let more = "";
	if (lane.exposed) {
		const x = path("x", lane.y, BAR);
		let at = 0;
		for (let i = 0; i < lane.exposed.length; i += 2) {
			const start = at + lane.exposed[i];
			at = start + lane.exposed[i + 1];
			if (at > from && start < to) x.add(px(start), px(at), 1);
		}
		const before = bars;
		more = x.end();
		bars = before;
	}
	return '<text class="l" x="2" y="' + (lane.y - 4) + '">' + lane.name + "</text>" + pathOf.all() + more + path1.end() + labels;
}

function drawAxis(h) {
	const least = (to - from) / Math.max(2, width / 80), power = Math.pow(10, Math.floor(Math.log10(least)));
	const step = [1, 2, 5, 10].find(function (s) { return s * power >= least; }) * power;
	let text = "";
	for (let t = Math.ceil(from / step) * step; t < to; t += step) {
		const x = px(t).toFixed(1);
		text += '<path class="g" d="M' + x + " 16V" + h + '"/><text class="a" x="' + (Number(x) + 3) +
			'" y="12">' + seconds(t) + "</text>";
	}
	return text;
}

function outline() {
	if (!chosen) return "";
	const a = Math.max(-2, px(chosen.lane.start[chosen.i]));
	const b = Math.min(width + 2, px(chosen.lane.start[chosen.i] + chosen.lane.d[chosen.i]));
	return b < 0 || a > width ? "" : '<path class="o" d="M' + a.toFixed(1) + " " + chosen.lane.y + "h" +
		Math.max(2, b - a).toFixed(1) + "v" + BAR + "h-" + Math.max(2, b - a).toFixed(1) + 'z"/>';
}

function drawMemory() {
	const m = data.memory, n = m.t.length;
	if (!n) return;
	let most = 0, text = "";
	const sums = new Float64Array(n), last = new Float64Array(n);
	for (let i = 0; i < n; i++) {
		let sum = 0;
		for (const kind of m.b) sum += kind[i];
		most = Math.max(most, sum);
	}
	const capacity = m.room && most > m.room * NEAR ? m.room : 0;
	const scale = (CURVE - 14) / Math.max(1, most, capacity);
	let a = 0, b = n;
	while (a + 1 < n && m.t[a + 1] <= from) a++;
	while (b > a + 1 && m.t[b - 1] >= to) b--;
	const right = function (i) { return px(i + 1 < n ? m.t[i + 1] : end).toFixed(1); };
	m.b.forEach(function (kind, k) {
		let up = "M" + px(m.t[a]).toFixed(1) + " " + CURVE, down = "";
		for (let i = a; i < b; i++) {
			sums[i] = last[i] + kind[i];
			up += "L" + px(m.t[i]).toFixed(1) + " " + (CURVE - scale * sums[i]).toFixed(1) + "H" + right(i);
		}
		for (let i = b; i-- > a;) {
			down += "L" + right(i) + " " + (CURVE - scale * last[i]).toFixed(1) + "H" + px(m.t[i]).toFixed(1);
			last[i] = sums[i];
		}
		text += '<path class="m' + k + '" d="' + up + down + 'z"/>';
	});
	let label = '<text class="a" x="3" y="11">' + bytes(most) + "</text>";
	if (capacity) {
		const y = (CURVE - scale * capacity).toFixed(1);
		for (let i = a; i < b; i++)
			if (sums[i] > capacity)
				text += '<path class="over" d="M' + px(m.t[i]).toFixed(1) + " " + y + "V" +
					(CURVE - scale * sums[i]).toFixed(1) + "H" + right(i) + "V" + y + 'z"/>';
		label += '<path class="room" d="M0 ' + y + "H" + width + '"/><text class="a" x="' + (width - 3) +
			'" y="' + (Number(y) + (most > capacity ? 12 : -3)) + '" text-anchor="end">capacity ' + bytes(capacity) + "</text>";
	}
	size(curve, CURVE);
	curve.innerHTML = text + label;
}

function size(element, h) {
	element.setAttribute("viewBox", "0 0 " + width + " " + h);
	element.setAttribute("style", "width:" + width + "px;height:" + h + "px");
}

function draw() {
	waiting = false;
	width = Math.max(50, chart.clientWidth);
	bars = 0;
	size(svg, height);
	let text = drawAxis(height);
	lanes.forEach(function (lane) { text += drawLane(lane); });
	svg.innerHTML = text + outline();
	svg.dataset.bars = bars;
	svg.dataset.from = Math.round(from);
	svg.dataset.to = Math.round(to);
	drawMemory();
}
function redraw() {
	if (!waiting) { waiting = true; requestAnimationFrame(draw); }
}

function show(a, b) {
	const length = Math.min(end, Math.max(Math.min(end, LEAST), b - a));
	from = Math.min(Math.max(0, a), end - length);
	to = from + length;
	redraw();
}
function zoom(factor, x) {
	const at = from + (x === undefined ? 0.5 : x / width) * (to - from);
	show(at - (at - from) / factor, at - (at - from) / factor + (to - from) / factor);
}
function pan(t) { show(from + t, to + t); }

function choose(lane, i, follow) {
	chosen = { lane: lane, i: i };
	const a = lane.start[i], b = a + lane.d[i], op = data.ops[lane.o[i]];
	const parts = [lane.name, seconds(lane.d[i]) + " from " + seconds(a)];
	if (lane.k[i] > 1) {
		parts.push("busy for " + seconds(lane.b[i]));
	} else {
		if (op[2]) parts.push(op[2]);
		parts.push(bytes(op[3]));
		if (op[4] > 0) parts.push(scaled(op[4] / 1e15, ["PFLOP", "TFLOP", "GFLOP", "MFLOP", "KFLOP", "FLOP"]));
		if (op[5]) parts.push("axis " + op[5]);
		if (lane.exposed) parts.push("exposed " + seconds(lane.x[i]));
		if (lane.t[i]) parts.push("micro-batch " + lane.t[i]);
		parts.push("slack " + seconds(lane.s[i]));
	}
	if (lane.c[i] === "1") parts.push("on the critical path");
	detail.textContent = name(lane, i) + ": " + parts.join(", ");
	if (follow) {
		if (a < from || b > to) {
			const length = Math.max(to - from, (b - a) * 1.2);
			show((a + b - length) / 2, (a + b + length) / 2);
		}
		if (lane.y < chart.scrollTop || lane.y + LANE > chart.scrollTop + chart.clientHeight)
			chart.scrollTop = lane.y - LABEL - AXIS;
	}
	redraw();
}
function go(by) {
	let lane = chosen ? chosen.lane : lanes.find(function (l) { return l.n; });
	if (!lane) return;
	choose(lane, chosen ? Math.min(lane.n - 1, Math.max(0, chosen.i + by)) : 0, true);
}
function otherLane(by) {
	if (!chosen) { go(0); return; }
	for (let n = lanes.indexOf(chosen.lane) + by; n >= 0 && n < lanes.length; n += by)
		if (lanes[n].n) {
			choose(lanes[n], Math.min(lanes[n].n - 1, first(lanes[n], chosen.lane.start[chosen.i])), true);
			return;
		}
}

// What is under a point; short bars are easier to hit.
function hit(e) {
	const box = svg.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
	const lane = lanes.find(function (l) { return y >= l.y - LABEL && y < l.y + LANE; });
	if (!lane || !lane.n) return null;
	const t = from + x / width * (to - from), slip = 8 / width * (to - from);
	let i = Math.min(first(lane, t), lane.n - 1), best = -1, distance = slip;
	for (let k = Math.max(0, i - 1); k <= Math.min(lane.n - 1, i + 1); k++) {
		const d = Math.max(lane.start[k] - t, t - lane.start[k] - lane.d[k], 0);
		if (d < distance || (d === 0 && best < 0)) { distance = d; best = k; }
	}
	return best < 0 ? null : { lane: lane, i: best };
}

const fingers = new Map();
let moved = false;
chart.addEventListener("pointerdown", function (e) {
	if (e.button) return;
	fingers.set(e.pointerId, e.clientX);
	moved = false;
});
chart.addEventListener("pointermove", function (e) {
	if (!fingers.has(e.pointerId)) {
		const h = e.pointerType === "mouse" ? hit(e) : null;
		if (h && !(chosen && chosen.lane === h.lane && chosen.i === h.i)) choose(h.lane, h.i, false);
		return;
	}
	const old = Array.from(fingers.values()), x0 = fingers.get(e.pointerId), left = svg.getBoundingClientRect().left;
	if (!moved && fingers.size === 1 && Math.abs(e.clientX - x0) < 4) return;
	if (!moved) { moved = true; try { chart.setPointerCapture(e.pointerId); } catch (error) { /* gone */ } }
	fingers.set(e.pointerId, e.clientX);
	if (fingers.size === 1) { pan((x0 - e.clientX) / width * (to - from)); return; }
	const now = Array.from(fingers.values()), before = Math.abs(old[0] - old[1]), after = Math.abs(now[0] - now[1]);
	if (before > 0 && after > 0) zoom(after / before, (now[0] + now[1]) / 2 - left);
	pan(((old[0] + old[1]) - (now[0] + now[1])) / 2 / width * (to - from));
});
["pointerup", "pointercancel"].forEach(function (kind) {
	chart.addEventListener(kind, function (e) {
		if (fingers.delete(e.pointerId) && kind === "pointerup" && !moved) {
			const h = hit(e);
			if (h) choose(h.lane, h.i, false);
		}
	});
});
chart.addEventListener("wheel", function (e) {
	if (e.ctrlKey || e.metaKey) zoom(Math.exp(-e.deltaY / 200), e.clientX - svg.getBoundingClientRect().left);
	else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / width * (to - from));
	else return;
	e.preventDefault();
}, { passive: false });
chart.addEventListener("dblclick", function (e) { zoom(2, e.clientX - svg.getBoundingClientRect().left); });

const keys = {
	"+": function () { zoom(2); }, "=": function () { zoom(2); }, "-": function () { zoom(0.5); },
	"0": function () { show(0, end); },
	ArrowLeft: function () { pan((from - to) / 5); }, ArrowRight: function () { pan((to - from) / 5); },
	ArrowUp: function () { otherLane(-1); }, ArrowDown: function () { otherLane(1); },
	n: function () { go(1); }, b: function () { go(-1); }
};
chart.addEventListener("keydown", function (e) {
	if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
	keys[e.key]();
	e.preventDefault();
});
const buttons = { "in": keys["+"], out: keys["-"], all: keys["0"], next: keys.n, back: keys.b };

// Ops whose kind, name or type contains the text; Enter goes to the next of them.
const search = byId("search"), matches = byId("matches");
search.addEventListener("input", function () {
	const text = search.value.trim().toLowerCase();
	found = text ? data.ops.map(function (op) {
		return op.slice(0, 3).some(function (part) { return part.toLowerCase().includes(text); }) || op[5] === text;
	}) : null;
	let n = 0;
	if (found)
		lanes.forEach(function (lane) { for (let i = 0; i < lane.n; i++) n += found[lane.o[i]] ? 1 : 0; });
	matches.textContent = found ? n + (n === 1 ? " event" : " events") : "";
	redraw();
});
search.addEventListener("keydown", function (e) {
	if (e.key !== "Enter" || !found) return;
	const all = [];
	lanes.forEach(function (lane) {
		for (let i = 0; i < lane.n; i++) if (found[lane.o[i]]) all.push({ lane: lane, i: i });
	});
	all.sort(function (x, y) { return x.lane.start[x.i] - y.lane.start[y.i]; });
	const at = all.findIndex(function (x) { return chosen && x.lane === chosen.lane && x.i === chosen.i; });
	const next = all[(at + (e.shiftKey ? all.length - 1 : 1)) % all.length] || all[0];
	if (next) choose(next.lane, next.i, true);
	e.preventDefault();
});

// Seconds of each kind on a device, in the mean.
function kindsOf(page) {
	const sum = new Map();
	page.devices.forEach(function (device) {
		device.lanes.forEach(function (lane) {
			for (let i = 0; i < lane.n; i++) {
				const kind = lane.k[i] > 1 ? "short events" : page.ops[lane.o[i]][0];
				sum.set(kind, (sum.get(kind) || 0) + lane.b[i] * page.tick / page.devices.length);
			}
		});
	});
	return sum;
}
// By micro-batch, the lanes of the stages are the schedule of a pipeline.
byId("batches").hidden = batches < 2;
function colored(e) {
	const box = { kind: byId("bykind"), batch: byId("bybatch") };
	colors = e.target.checked ? e.target.id.slice(2) : "";
	for (const by in box) box[by].checked = by === colors;
	const kinds = colors === "kind" ? Array.from(kindsOf(data)).sort(function (x, y) { return y[1] - x[1]; }).map(function (x) { return x[0]; })
		: colors ? Array.from({ length: batches }, function (x, i) { return i; }) : [];
	byId("kindlegend").innerHTML = kinds.slice(0, 12).map(function (x) {
		return '<span><i style="background:' + color(x) + '"></i>' + (typeof x === "number" ? "micro-batch " + x : escaped(x)) + "</span>";
	}).join(" ");
	redraw();
}
byId("bykind").addEventListener("change", colored);
byId("bybatch").addEventListener("change", colored);

// Another report, read from its file: what differs.
function peakOf(page) {
	let most = 0;
	page.memory.t.forEach(function (t, i) {
		most = Math.max(most, page.memory.b.reduce(function (sum, kind) { return sum + kind[i]; }, 0));
	});
	return most;
}
function compare(other, name) {
	const time = function (x) { return scaled(x, ["s", "ms", "us", "ns", "ps"]); };
	const before = kindsOf(other), after = kindsOf(data), rows = [["iteration", other.end * other.tick, data.end * data.tick, time]];
	rows.push(["memory", peakOf(other), peakOf(data), bytes]);
	const kinds = Array.from(new Set(Array.from(before.keys()).concat(Array.from(after.keys())))).map(function (kind) {
		return [kind, before.get(kind) || 0, after.get(kind) || 0, time];
	});
	kinds.sort(function (x, y) { return Math.abs(y[2] - y[1]) - Math.abs(x[2] - x[1]); });
	byId("compared").innerHTML = '<div class="s" role="region" tabindex="0" aria-label="Comparison"><table><caption>' + escaped(name) +
		" and this report: seconds of each kind of op on a device</caption><thead><tr><th></th><th class=n>there</th><th class=n>here</th>" +
		"<th class=n>difference</th></tr></thead><tbody>" + rows.concat(kinds).map(function (r) {
			const d = r[2] - r[1];
			return "<tr><td>" + escaped(r[0]) + "</td>" + [r[3](r[1]), r[3](r[2]), (d < 0 ? "-" : d > 0 ? "+" : "") + r[3](Math.abs(d))].map(
				function (cell) { return "<td class=n>" + cell + "</td>"; }).join("") + "</tr>";
		}).join("") + "</tbody></table></div>";
	document.querySelectorAll("#compared table").forEach(sortable);
}
byId("other").addEventListener("change", function (e) {
	const file = e.target.files[0];
	if (!file) return;
	file.text().then(function (text) {
		const page = new DOMParser().parseFromString(text, "text/html").getElementById("data");
		compare(JSON.parse(page.textContent), file.name);
	}).catch(function () { byId("compared").textContent = file.name + " is not a report."; });
});

// A click on the head of a column sorts the rows by it, numbers with their units the largest first.
const UNITS = { p: 1e-12, n: 1e-9, u: 1e-6, m: 1e-3, "": 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
function quantity(text) {
	const m = text.match(/^([-+]?[\d.]+(?:e[-+]?\d+)?)\s*([pnumKMGTP]?)(?:s|B|FLOP|%|$)/);
	return m ? Number(m[1]) * UNITS[m[2]] : -Infinity;
}
function sortable(table) {
	const heads = Array.from(table.tHead.rows[0].cells), body = table.tBodies[0];
	heads.forEach(function (head, c) {
		if (body.rows.length < 2) return;
		function sort() {
			const number = head.classList.contains("n");
			const down = head.ariaSort ? head.ariaSort === "ascending" : number;
			heads.forEach(function (h) { h.ariaSort = null; });
			head.ariaSort = down ? "descending" : "ascending";
			const rows = Array.from(body.rows, function (row) {
				const text = row.cells[c] ? row.cells[c].textContent : "";
				return { row: row, key: number ? quantity(text) : text };
			});
			rows.sort(function (x, y) {
				const order = number ? x.key - y.key : x.key.localeCompare(y.key, undefined, { numeric: true });
				return down ? -order : order;
			});
			rows.forEach(function (r) { body.appendChild(r.row); });
		}
		head.tabIndex = 0;
		head.classList.add("sort");
		head.addEventListener("click", sort);
		head.addEventListener("keydown", function (e) { if (e.key === "Enter") sort(); });
	});
}
document.querySelectorAll("table").forEach(sortable);
Object.keys(buttons).forEach(function (id) { document.getElementById(id).addEventListener("click", buttons[id]); });

["#keys", "#detail", ".tools", "#compare"].forEach(function (s) { document.querySelector(s).hidden = false; });
detail.textContent = "Point at an event to see its details.";
window.addEventListener("resize", redraw);
draw();
}());
