R"js(
// Shows the values of the curves under the pointer. The page has all of them without this script, too.
(() => {
  const box = document.getElementById('read-out');

  const duration = ns => {
    const [unit, name] = ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : ns >= 100 ? [1e3, 'µs'] : [1, 'ns'];
    return (ns / unit).toPrecision(3) + ' ' + name;
  };

  const quantity = (count, what) => {
    const [unit, name] = count >= 1e6 ? [1e6, ' M'] : count >= 1e3 ? [1e3, ' k'] : [1, ''];
    return (count / unit).toPrecision(3) + name + what;
  };

  // The points of a path, as parts of width and height, from the bottom up.
  const points = (path, view) => {
    let x = 0, y = 0;
    return [...path.getAttribute('d').matchAll(/([Ml])(-?\d+) (-?\d+)/g)].map(([, kind, dx, dy]) => {
      x = (kind == 'M' ? 0 : x) + Number(dx);
      y = (kind == 'M' ? 0 : y) + Number(dy);
      return [x / view.width, 1 - y / view.height];
    });
  };

  const height = (line, x) => {
    const next = line.findIndex(point => point[0] >= x);
    if (next == -1 || (next == 0 ? line[0][0] > x : false)) return null;
    if (next == 0) return line[0][1];
    const [[x0, y0], [x1, y1]] = [line[next - 1], line[next]];
    return x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y1;
  };

  const row = (kind, name, value) => {
    const line = document.createElement('p');
    line.className = kind;
    for (const text of [name, value]) line.appendChild(document.createElement('span')).textContent = text;
    return line;
  };

  for (const chart of document.querySelectorAll('.chart')) {
    const plot = chart.querySelector('.plot'), cross = chart.querySelector('.cross'), at = chart.dataset;
    const curves = [...plot.querySelectorAll('.line')].map(path => ({
      kind: path.classList[1], name: path.dataset.name, line: points(path, plot.viewBox.baseVal)}));
    const low = Number(at.low), span = Number(at.high) - low;
    const rare = at.kind == 'percentiles', loaded = at.kind == 'throughput' || at.kind == 'waiting';
    const timed = at.kind == 'timeline', many = y => at.scale == 'logarithmic' ? 10 ** (low + y * span) : low + y * span;
    const value = y => timed ? quantity(many(y), at.unit)
                     : at.kind == 'throughput' ? quantity(low + y * span, '/s') : rare || loaded ? duration(10 ** (low + y * span)) : share(y);
    const share = part => (part * 100).toPrecision(3) + ' %';

    chart.addEventListener('pointermove', event => {
      const place = chart.getBoundingClientRect();
      const x = Math.min(Math.max((event.clientX - place.left) / place.width, 0), 1);
      const found = curves.map(curve => ({...curve, y: height(curve.line, x)})).filter(curve => curve.y !== null);
      found.sort((a, b) => b.y - a.y);
      const exponent = x * Number(at.decades);
      const heading = rare ? 'p' + (100 - 100 * 10 ** -exponent).toFixed(Math.max(Math.ceil(exponent) - 1, 0))
                    : timed ? 'at ' + (x * at.seconds).toFixed(1) + ' s'
                    : loaded ? 'depth ' + Math.round(2 ** (Number(at.first) + x * (at.last - at.first)))
                           : 'within ' + duration(10 ** (low + x * span));
      box.replaceChildren(row('', heading, ''), ...found.map(({kind, name, y}) =>
        row(kind, name, value(y))));
      const left = event.clientX + 16 + box.offsetWidth > innerWidth ? event.clientX - 16 - box.offsetWidth : event.clientX + 16;
      box.style.transform = `translate(${Math.max(left, 4)}px, ${event.clientY + 16}px)`;
      box.style.visibility = cross.style.visibility = 'visible';
      cross.setAttribute('x1', x * 100 + '%');
      cross.setAttribute('x2', x * 100 + '%');
    });
    chart.addEventListener('pointerleave', () => {
      box.style.visibility = cross.style.visibility = 'hidden';
    });
  }
})();
)js"
