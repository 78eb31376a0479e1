// Reads JSON as it is written, for the editor: positions of faults, numbers by their letters, names that
// stand twice. JSON.parse would lose all three. It only advises; the server decides what is strict JSON.
(() => {
  "use strict";

  const DEPTH = 64;

  class Fault extends Error {
    constructor(at, text) { super(text); this.at = at; }
  }

  const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
  const SPACE = /[ \t\n\r]*/y;
  const WORD = /true|false|null/y;

  class Reader {
    constructor(text, twice) { this.text = text; this.at = 0; this.twice = twice; }

    match(pattern) {
      pattern.lastIndex = this.at;
      const found = pattern.exec(this.text);
      if (found) this.at = pattern.lastIndex;
      return found && found[0];
    }

    space() { this.match(SPACE); }
    peek() { return this.text[this.at]; }
    fail(text, at = this.at) { throw new Fault(at, text); }

    expect(letter, text) {
      this.space();
      if (this.peek() !== letter) this.fail(text);
      this.at += 1;
    }

    // A value: {kind, text} for what has no members, {kind, members | items} otherwise.
    value(depth) {
      this.space();
      const start = this.at, letter = this.peek();
      if (letter === undefined) this.fail("the text ends where a value is expected");
      if ((letter === "{" || letter === "[") && depth > DEPTH) this.fail(`nested deeper than ${DEPTH} levels`);
      if (letter === "{") return this.object(depth);
      if (letter === "[") return this.list(depth);
      if (letter === '"') return { kind: "string", text: this.string("a text") };
      const word = this.match(WORD);
      if (word) return { kind: "word", text: word };
      const number = this.match(NUMBER);
      if (number && !/[\w.+-]/.test(this.peek() ?? "")) return { kind: "number", text: number };
      this.at = start;
      return this.fail("a value is expected");
    }

    string(what) {
      const start = this.at, found = this.match(STRING);
      return found ?? this.fail(`${what} is not closed, or holds a letter that must be escaped`, start);
    }

    object(depth) {
      const members = [], names = new Set();
      this.at += 1;
      this.space();
      if (this.peek() === "}") { this.at += 1; return { kind: "object", members }; }
      for (;;) {
        this.space();
        const start = this.at;
        if (this.peek() !== '"') {
          // Half of the world writes 60,00.
          const comma = /\d,$/.test(this.text.slice(0, start)) && /\d/.test(this.peek() ?? "");
          this.fail(comma ? "a fraction is written with a point, as in 60.00" : "a name in quotes is expected");
        }
        const name = JSON.parse(this.string("a name"));
        if (names.has(name) && !this.twice) this.fail(`the name ${JSON.stringify(name)} stands twice`, start);
        names.add(name);
        this.expect(":", "a colon is expected");
        members.push([name, this.value(depth + 1)]);
        this.space();
        if (this.peek() === ",") { this.at += 1; continue; }
        this.expect("}", "a comma or a closing brace is expected");
        return { kind: "object", members };
      }
    }

    list(depth) {
      const items = [];
      this.at += 1;
      this.space();
      if (this.peek() === "]") { this.at += 1; return { kind: "list", items }; }
      for (;;) {
        items.push(this.value(depth + 1));
        this.space();
        if (this.peek() === ",") { this.at += 1; continue; }
        this.expect("]", "a comma or a closing bracket is expected");
        return { kind: "list", items };
      }
    }
  }

  // `twice`: a name may stand more than once in its object, as it may in what an agent wrote.
  const read = (text, twice) => {
    const reader = new Reader(text, twice);
    const value = reader.value(1);
    reader.space();
    if (reader.at < text.length) reader.fail("the value has ended, and more text follows");
    return value;
  };

  const write = (node) => {
    if (node.kind === "object") return `{${node.members.map(([name, value]) => `${JSON.stringify(name)}: ${write(value)}`).join(", ")}}`;
    if (node.kind === "list") return `[${node.items.map(write).join(", ")}]`;
    return node.kind === "string" ? JSON.stringify(JSON.parse(node.text)) : node.text;
  };

  // Equal as written, but for the space between values and the spelling of a text: 1.50 is not 1.5.
  const equal = (one, other) => {
    if (one.kind !== other.kind) return false;
    if (one.kind === "list") return one.items.length === other.items.length && one.items.every((item, index) => equal(item, other.items[index]));
    if (one.kind === "object") {
      return one.members.length === other.members.length
        && one.members.every(([name, value], index) => name === other.members[index][0] && equal(value, other.members[index][1]));
    }
    return one.text === other.text || (one.kind === "string" && JSON.parse(one.text) === JSON.parse(other.text));
  };

  // Half of a pair of surrogates stands in a pointer as its escape, as the server writes it.
  const step = (name) => name
    .replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`)
    .replaceAll("~", "~0").replaceAll("/", "~1");

  // [sign, digits, exponent] without zeros at either end: equal for 1.50, 1.5 and 15e-1.
  const reduced = (lexeme) => {
    const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(lexeme);
    const digits = whole + fraction;
    let start = 0, end = digits.length;
    while (digits[start] === "0") start += 1;
    while (end > start && digits[end - 1] === "0") end -= 1;
    if (start === end) return "0";
    return `${sign}${digits.slice(start, end)}e${BigInt(exponent) + BigInt(digits.length - end - fraction.length)}`;
  };

  const SORTS = { string: "a text", number: "a number", object: "an object", list: "a list" };
  const sort = (node) => SORTS[node.kind] ?? (node.text === "null" ? "null" : "true or false");

  // What else is to be known of a value that changed, in the words of the receipt.
  const aside = (was, now) => {
    if (sort(was) !== sort(now)) return { aside: `${sort(now)} instead of ${sort(was)}`, recast: true };
    return { aside: was.kind === "number" && reduced(was.text) === reduced(now.text) ? "same value, written differently" : "" };
  };

  const byName = (node) => {
    const values = new Map();
    for (const [name, value] of node.members) {
      if (values.has(name)) values.get(name).push(value);
      else values.set(name, [value]);
    }
    return values;
  };

  const commonHead = (one, other) => {
    let length = 0;
    while (length < one.length && length < other.length && equal(one[length], other[length])) length += 1;
    return length;
  };

  // Every value that differs, as {pointer, was, now}; undefined is a value that is not there. `orders` gets the
  // objects whose members stand in another order. The server tells the same of what it admitted: one walk, two languages.
  const compare = (was, now, pointer, found, orders) => {
    const gone = (value, place) => found.push({ pointer: place, was: write(value) });
    const come = (value, place) => found.push({ pointer: place, now: write(value) });
    if (was.kind === "object" && now.kind === "object") {
      const before = byName(was), after = byName(now);
      for (const name of new Set([...before.keys(), ...after.keys()])) {
        const place = `${pointer}/${step(name)}`, old = before.get(name) ?? [], fresh = after.get(name) ?? [];
        const both = Math.min(old.length, fresh.length);
        for (let index = 0; index < both; index += 1) compare(old[index], fresh[index], place, found, orders);
        for (const value of old.slice(both)) gone(value, place);
        for (const value of fresh.slice(both)) come(value, place);
      }
      const names = (values, others) => JSON.stringify([...values.keys()].filter((name) => others.has(name)));
      const written = (node) => JSON.stringify(node.members.map(([name]) => name));
      if (names(before, after) !== names(after, before)
        || (before.size < was.members.length && written(was) !== written(now))) orders.push({ pointer, aside: "order of members" });
    } else if (was.kind === "list" && now.kind === "list") {
      // Items by place; where the lengths differ, what is equal at the end is not a change.
      let tail = 0;
      if (was.items.length !== now.items.length) {
        const shorter = Math.min(was.items.length, now.items.length) - commonHead(was.items, now.items);
        tail = Math.min(shorter, commonHead([...was.items].reverse(), [...now.items].reverse()));
      }
      const old = was.items.slice(0, was.items.length - tail), fresh = now.items.slice(0, now.items.length - tail);
      const both = Math.min(old.length, fresh.length);
      for (let index = 0; index < both; index += 1) compare(old[index], fresh[index], `${pointer}/${index}`, found, orders);
      for (let index = both; index < old.length; index += 1) gone(old[index], `${pointer}/${index}`);
      for (let index = both; index < fresh.length; index += 1) come(fresh[index], `${pointer}/${index}`);
    } else if (!equal(was, now)) {
      found.push({ pointer, was: write(was), now: write(now), ...aside(was, now) });
    }
  };

  const bytes = (text) => new TextEncoder().encode(text).length;

  window.cortexJson = {
    // {fault: {at, text}} or {value}
    read(text, twice = false) {
      try {
        return { value: read(text, twice) };
      } catch (error) {
        if (error instanceof Fault) return { fault: { at: error.at, text: error.message } };
        if (error instanceof RangeError) return { fault: { at: 0, text: "nested too deeply" } };
        throw error;
      }
    },
    // What an edit changes of the original, both as texts: values, or else the order of members, or else white
    // space. An original that is no JSON can only be replaced whole.
    changes(original, edited) {
      if (original === edited) return [];
      const was = this.read(original, true), now = this.read(edited, true);
      if (was.fault || now.fault) return [{ pointer: "", was: original, now: edited }];
      const found = [], orders = [];
      compare(was.value, now.value, "", found, orders);
      if (found.length) return found;
      return orders.length ? orders : [{ pointer: "", aside: "white space or escapes only" }];
    },
    bytes,
  };
})();
