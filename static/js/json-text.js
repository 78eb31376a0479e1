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
    constructor(text) { this.text = text; this.at = 0; }

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
      if (depth > DEPTH) this.fail(`nested deeper than ${DEPTH} levels`);
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
        if (names.has(name)) this.fail(`the name ${JSON.stringify(name)} stands twice`, start);
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

  const read = (text) => {
    const reader = new Reader(text);
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

  const step = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");

  // Every value that differs, as {pointer, was, now}; undefined is a value that is not there.
  const compare = (was, now, pointer, found) => {
    if (was.kind === now.kind && was.kind === "object") {
      const before = new Map(was.members), after = new Map(now.members);
      for (const name of new Set([...before.keys(), ...after.keys()])) {
        const place = `${pointer}/${step(name)}`;
        if (!after.has(name)) found.push({ pointer: place, was: write(before.get(name)) });
        else if (!before.has(name)) found.push({ pointer: place, now: write(after.get(name)) });
        else compare(before.get(name), after.get(name), place, found);
      }
    } else if (was.kind === now.kind && was.kind === "list") {
      for (let index = 0; index < Math.max(was.items.length, now.items.length); index += 1) {
        const place = `${pointer}/${index}`, [one, other] = [was.items[index], now.items[index]];
        if (!other) found.push({ pointer: place, was: write(one) });
        else if (!one) found.push({ pointer: place, now: write(other) });
        else compare(one, other, place, found);
      }
    } else if (write(was) !== write(now)) {
      found.push({ pointer, was: write(was), now: write(now) });
    }
    return found;
  };

  const bytes = (text) => new TextEncoder().encode(text).length;

  window.cortexJson = {
    // {fault: {at, text}} or {value}
    read(text) {
      try {
        return { value: read(text) };
      } catch (error) {
        if (error instanceof Fault) return { fault: { at: error.at, text: error.message } };
        if (error instanceof RangeError) return { fault: { at: 0, text: "nested too deeply" } };
        throw error;
      }
    },
    // What a value that was read changes of the original text; null where that is no strict JSON itself,
    // and so can only be replaced whole.
    changes(original, value) {
      const was = this.read(original);
      return was.fault ? null : compare(was.value, value, "", []);
    },
    bytes,
  };
})();
