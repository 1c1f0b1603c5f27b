// node sort_table_test.js SCRIPT: presses the headings of a table and checks the order of its rows. The script runs in a
// document that has only what it uses.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');

class Element {
  constructor(text = '', dataset = {}, colSpan = 1) {
    Object.assign(this, {childNodes: text === '' ? [] : [text], dataset, colSpan, attributes: {}, listeners: {}});
  }
  get textContent() {
    return this.childNodes.map(each => each.textContent ?? each).join('');
  }
  append(...nodes) {
    for (const node of nodes)  // moves what it already holds, as in a page
      this.childNodes = [...this.childNodes.filter(each => each !== node), node];
    if (nodes.length > 0 && nodes[0] instanceof Element && nodes[0].tag === 'button') this.childNodes = [nodes[0]];
  }
  getAttribute(name) {
    return this.attributes[name] ?? null;
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  removeAttribute(name) {
    delete this.attributes[name];
  }
  addEventListener(event, listener) {
    this.listeners[event] = listener;
  }
}

class Row extends Element {
  constructor(cells) {
    super();
    this.cells = cells;
  }
  get name() {
    return this.cells[1].textContent;
  }
}

const row = (series, report, p50) => new Row([
  new Element(series), new Element(report), new Element('-', p50 === undefined ? {} : {value: String(p50)})]);
const refused = (series, report) =>
    new Row([new Element(series), new Element(report), new Element('INVALID', {}, 7)]);

const heads = [['Series', 'text'], ['Report', 'text'], ['p50', 'number']].map(([text, sort]) => new Element(text, {sort}));
const body = new Element();
body.append(row('read', 'c', 1000), refused('read', 'd'), row('write', 'a', 9), row('read', 'b', 200), row('read', 'e'));
body.rows = body.childNodes.slice();
const table = {tBodies: [body], tHead: {rows: [{cells: heads}]}};

const [, source] = fs.readFileSync(process.argv[2], 'utf8').match(/^R"js\(([^]*)\)js"\s*$/);
const document = {
  querySelectorAll: selector => selector === 'table.sortable' ? [table] : [],
  createElement: tag => Object.assign(new Element(), {tag}),
};
new Function('document', source)(document);

const button = column => heads[column].childNodes[0];
const press = column => button(column).listeners.click();
const order = () => body.childNodes.map(each => each.name).join('');
const sorted = () => heads.map(each => each.getAttribute('aria-sort'));

assert.equal(order(), 'cdabe', 'nothing is sorted before a heading is pressed');
assert.equal(button(0).tag, 'button');
assert.equal(button(0).type, 'button');
assert.equal(button(0).textContent, 'Series');
assert.deepEqual(sorted(), [null, null, null]);

press(2);
assert.equal(order(), 'abcde', 'by number, not by text; what has no value comes last, as in the reports');
assert.deepEqual(sorted(), [null, null, 'ascending']);
press(2);
assert.equal(order(), 'cbade', 'descending; what has no value still comes last');
assert.deepEqual(sorted(), [null, null, 'descending']);
press(2);
assert.equal(order(), 'abcde');

press(0);
assert.equal(order(), 'cdbea', 'by text; equal ones in the order of the reports');
assert.deepEqual(sorted(), ['ascending', null, null]);
press(1);
assert.equal(order(), 'abcde');
console.log('sorted');
