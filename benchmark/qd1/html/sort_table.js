R"js(
// Sorts a table by the column whose heading is pressed, and the other way around when it is pressed again. Without this
// script the rows stay in the order of the reports.
(() => {
  // The value of a row in a column; null where it has none.
  const key = (row, column, numbers) => {
    const cell = row.cells[column];
    if (!cell || cell.colSpan > 1) return null;
    if (!numbers) return cell.textContent;
    return 'value' in cell.dataset ? Number(cell.dataset.value) : null;
  };

  const sort = (table, rows, column, numbers, sign) => {
    const keys = new Map(rows.map(row => [row, key(row, column, numbers)]));
    const order = (a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (x === null || y === null) return (x === null ? 1 : 0) - (y === null ? 1 : 0);
      return sign * (numbers ? x - y : x.localeCompare(y));
    };
    table.tBodies[0].append(...[...rows].sort(order));
  };

  for (const table of document.querySelectorAll('table.sortable')) {
    const rows = [...table.tBodies[0].rows], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const ascending = head.getAttribute('aria-sort') != 'ascending';
        for (const each of heads) each.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
        sort(table, rows, column, head.dataset.sort == 'number', ascending ? 1 : -1);
      });
    });
  }
})();
)js"
