
'use strict';
(() => {
  const BLOCK = 100;
  const TINTS = {
    'new': 'grey', 'unmanaged': 'grey', 'registering': 'blue', 'importing': 'blue', 'match profile': 'blue', 'inspecting': 'blue',
    'preparing': 'blue', 'ready': 'teal', 'available': 'teal', 'provisioning': 'violet', 'provisioned': 'green',
    'externally provisioned': 'green', 'deprovisioning': 'amber', 'powering off before delete': 'red', 'deleting': 'red',
  };
  const $ = (id) => document.getElementById(id);
  const tint = (state) => TINTS[state] || 'grey';

  // All that comes from objects goes through here: text stays text.
  const el = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null) continue;
      if (key === 'class') made.className = value;
      else if (key === 'onclick') made.addEventListener('click', value);
      else made.setAttribute(key, value);
    }
    for (const child of children) {
      if (child !== undefined && child !== null) made.append(child);
    }
    return made;
  };
  const fill = (parent, ...children) => parent.replaceChildren(...children.filter((it) => it !== undefined && it !== null));
  // What is shown already stays as it is: who reads it, has it marked or stands on it by keyboard is not to notice.
  const update = (parent, value, make) => {
    const key = JSON.stringify(value);
    if (parent.key === key) return;
    const stops = () => [...parent.querySelectorAll('a, button')];
    const at = stops().indexOf(document.activeElement);
    fill(parent, ...make());
    parent.key = key;
    if (at >= 0 && stops()[at]) stops()[at].focus();
  };
  const set = (made, name, value) => { if (made.getAttribute(name) !== value) made.setAttribute(name, value); };

  let token = sessionStorage.getItem('token') || '';
  let stopLive = null;
  const filter = { state: '', trouble: '', waiting: false, q: '' };
  const view = { total: 0, blocks: new Map(), wanted: new Set(), round: 0, active: -1, rows: new Map() };
  let chosen = null;

  class Refused extends Error {
    constructor(status, text) { super(text); this.status = status; }
  }

  const ask = async (path, signal) => {
    const answer = await fetch(path, { headers: { Authorization: 'Bearer ' + token }, signal, cache: 'no-store' });
    if (answer.ok) return answer;
    let text = 'it answered ' + answer.status;
    try { text = (await answer.json()).problem || text; } catch { /* no words */ }
    if (answer.status === 401 || answer.status === 403) signOut(text);
    throw new Refused(answer.status, text);
  };
  const get = async (path) => (await ask(path)).json();

  const signOut = (why) => {
    token = '';
    sessionStorage.removeItem('token');
    if (stopLive) stopLive.abort();
    stopLive = null;
    chosen = null;
    view.blocks.clear();
    view.total = 0;
    for (const row of view.rows.values()) row.remove();
    view.rows.clear();
    for (const id of ['states', 'bar', 'troubles', 'by-policy', 'latest', 'waiting-list', 'host-body']) update($(id), null, () => []);
    $('app').hidden = true;
    $('sign-in').hidden = false;
    $('refusal').hidden = !why;
    $('refusal').textContent = why || '';
    $('token').value = '';
    $('token').focus();
  };

  const signIn = async () => {
    await get('/api/summary');
    sessionStorage.setItem('token', token);
    $('sign-in').hidden = true;
    $('app').hidden = false;
    route();
    await refresh();
    listen();
  };

  // What has changed is told; what it is now is asked for.
  const listen = async () => {
    stopLive = new AbortController();
    const mine = stopLive;
    let pause = 500;
    while (token && mine === stopLive) {
      try {
        const answer = await ask('/api/live', mine.signal);
        $('live').textContent = 'live';
        $('live').className = 'live on';
        pause = 500;
        const reader = answer.body.getReader();
        for (;;) {
          const { done } = await reader.read();
          if (done) break;
          refresh();
        }
      } catch (error) {
        if (mine.signal.aborted) return;
      }
      if (!token) return;
      $('live').textContent = 'connecting again';
      $('live').className = 'live off';
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, 10000);
    }
  };

  let isRefreshing = false;
  let isStale = false;
  const refresh = async () => {
    if (isRefreshing) { isStale = true; return; }
    isRefreshing = true;
    do {
      isStale = false;
      try {
        await Promise.all([refreshSummary(), refreshList(), refreshDenials(), refreshHost()]);
      } catch (error) {
        if (!(error instanceof Refused)) await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    } while (isStale && token);
    isRefreshing = false;
  };

  const chip = (text, count, color, isPressed, choose) => {
    const made = el('button', { class: 'chip ' + color, type: 'button', 'aria-pressed': String(isPressed), onclick: choose },
      el('span', { class: 'dot' }), el('span', {}, text), el('b', {}, String(count)));
    return made;
  };

  const refreshSummary = async () => {
    const { version, isComplete, summary } = await get('/api/summary');
    $('version').textContent = version;
    $('count').textContent = isComplete ? summary.hosts.toLocaleString('en') : '…';
    $('count-word').textContent = summary.hosts === 1 ? 'host' : 'hosts';
    const needy = summary.troubles.reduce((sum, it) => sum + it.hosts, 0);
    $('verdict').className = needy ? 'bad' : '';
    $('verdict').textContent = needy ? (needy === 1 ? '1 needs somebody' : needy.toLocaleString('en') + ' need somebody') : 'None of them needs anybody.';
    update($('bar'), summary.states, () => summary.states.map((it) => {
      const part = el('span', { class: tint(it.state) });
      part.style.flexGrow = String(it.hosts);
      return part;
    }));
    const toggle = (key, value) => () => { filter[key] = filter[key] === value ? '' : value; filter.waiting = false; changed(); };
    update($('states'), [summary.states, filter.state], () => summary.states.map((it) =>
      chip(it.state, it.hosts.toLocaleString('en'), tint(it.state), filter.state === it.state, toggle('state', it.state))));
    const color = (kind) => (kind === 'Failing' || kind === 'Duplicate' ? 'red' : 'amber');
    update($('troubles'), [summary.troubles, filter.trouble], () => summary.troubles.map((it) =>
      chip(it.state, it.hosts.toLocaleString('en'), color(it.state), filter.trouble === it.state, toggle('trouble', it.state))));
    $('waiting').hidden = summary.waiting === 0;
    $('waiting-count').textContent = String(summary.waiting);
    $('waiting-all').setAttribute('aria-pressed', String(filter.waiting));
    $('waiting-all').textContent = filter.waiting ? 'Show all hosts' : 'Show in the list';
    if (summary.waiting) {
      const { rows } = await get('/api/hosts?waiting=true&limit=4');
      update($('waiting-list'), rows, () => rows.map((row) => el('li', {}, link(row.namespace, row.name),
        row.discoveredBy ? el('div', { class: 'muted' }, 'found by ' + row.discoveredBy) : null,
        row.mac ? el('div', { class: 'muted mono' }, row.mac) : null)));
    }
  };

  const address = (namespace, name) => '#/host/' + encodeURIComponent(namespace) + '/' + encodeURIComponent(name);
  const link = (namespace, name) => el('a', { class: 'what', href: address(namespace, name) }, namespace + '/' + name);

  // The list: as tall as all hosts, with rows only where somebody looks.
  // Asked once a size, and not once a row: asking makes the browser work out all styles anew.
  let tall = 0;
  const measure = () => { tall = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 60; };
  const height = () => tall;
  measure();
  const query = (offset) => {
    const parts = new URLSearchParams({ offset: String(offset), limit: String(BLOCK) });
    for (const key of ['state', 'trouble', 'q']) if (filter[key]) parts.set(key, filter[key]);
    if (filter.waiting) parts.set('waiting', 'true');
    return '/api/hosts?' + parts;
  };
  const seen = () => {
    const list = $('list');
    const first = Math.max(0, Math.floor(list.scrollTop / height()) - 6);
    const last = Math.min(view.total - 1, Math.ceil((list.scrollTop + list.clientHeight) / height()) + 6);
    return [first, last];
  };
  const blocksSeen = () => {
    const [first, last] = seen();
    const blocks = [];
    for (let block = Math.floor(first / BLOCK); block <= Math.max(0, Math.floor(last / BLOCK)); block += 1) blocks.push(block);
    return blocks.length ? blocks : [0];
  };
  const refreshList = async () => {
    const round = ++view.round;
    const fetched = await Promise.all(blocksSeen().map(async (block) => [block, await get(query(block * BLOCK))]));
    if (round !== view.round) return;
    view.blocks = new Map(fetched.map(([block, slice]) => [block, slice.rows]));
    view.wanted.clear();
    view.total = fetched[0][1].total;
    $('space').style.height = view.total * height() + 'px';
    const isFiltered = filter.state || filter.trouble || filter.q || filter.waiting;
    $('nothing').hidden = view.total > 0;
    $('list').hidden = view.total === 0;
    $('nothing').textContent = isFiltered ? 'No host is like that.' : 'There are no BareMetalHosts.';
    if (view.active >= view.total) view.active = view.total - 1;
    draw();
  };
  const want = async (block) => {
    if (view.blocks.has(block) || view.wanted.has(block)) return;
    view.wanted.add(block);
    const round = view.round;
    try {
      const slice = await get(query(block * BLOCK));
      if (round !== view.round) return;
      view.blocks.set(block, slice.rows);
      draw();
    } catch { view.wanted.delete(block); }
  };
  const rowAt = (index) => (view.blocks.get(Math.floor(index / BLOCK)) || [])[index % BLOCK];
  const draw = () => {
    const [first, last] = seen();
    for (const [index, made] of view.rows) {
      if (index < first || index > last) { made.remove(); view.rows.delete(index); }
    }
    for (let index = first; index <= last; index += 1) {
      const row = rowAt(index);
      if (!row) want(Math.floor(index / BLOCK));
      let made = view.rows.get(index);
      if (!made) {
        made = el('div', { role: 'option', id: 'row-' + index });
        made.addEventListener('click', () => { const it = rowAt(index); if (it) { view.active = index; open(it); } });
        view.rows.set(index, made);
        $('space').append(made);
      }
      const top = 'translateY(' + index * height() + 'px)';
      if (made.style.transform !== top) made.style.transform = top;
      const isActive = index === view.active;
      set(made, 'aria-selected', String(isActive));
      set(made, 'aria-posinset', String(index + 1));
      set(made, 'aria-setsize', String(view.total));
      set(made, 'class', 'row' + (isActive ? ' active' : '') + (row ? '' : ' loading'));
      update(made, row || null, () => (row ? cells(row) : [el('span', { class: 'cell' }, '…')]));
    }
    if (view.active >= 0) $('list').setAttribute('aria-activedescendant', 'row-' + view.active);
    else $('list').removeAttribute('aria-activedescendant');
  };
  const cells = (row) => [
    el('span', { class: 'cell name' }, row.name, el('small', {}, row.namespace)),
    el('span', { class: 'cell state ' + tint(row.state) }, el('span', { class: 'dot' }), row.state),
    el('span', { class: 'cell used' }, row.consumer || el('span', { class: 'muted' }, row.isOn ? 'nobody' : 'nobody, off')),
    row.trouble
      ? el('span', { class: 'cell needs why' }, el('span', { class: 'tag ' + row.trouble.kind }, row.trouble.kind), row.trouble.reason)
      : el('span', { class: 'cell needs muted' }, '–'),
  ];
  const changed = () => {
    $('list').scrollTop = 0;
    view.active = -1;
    view.blocks.clear();
    refresh();
  };
  const move = (index) => {
    if (!view.total) return;
    view.active = Math.max(0, Math.min(view.total - 1, index));
    const list = $('list');
    const top = view.active * height();
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + height() > list.scrollTop + list.clientHeight) list.scrollTop = top + height() - list.clientHeight;
    draw();
  };

  const refreshDenials = async () => {
    const { byPolicy, latest } = await get('/api/denials');
    const most = Math.max(1, ...byPolicy.map((it) => it.denials));
    update($('by-policy'), byPolicy, () => [...byPolicy.slice(0, 6).map((it) => {
      const meter = el('i');
      meter.style.width = (100 * it.denials) / most + '%';
      const trials = it.dryRuns ? el('span', { class: 'muted' }, (it.denials ? '+ ' : '') + it.dryRuns + (it.dryRuns === 1 ? ' dry run' : ' dry runs')) : null;
      const count = el('span', { class: 'count' }, trials, it.denials ? el('b', {}, it.denials.toLocaleString('en')) : null);
      return el('div', { class: 'policy' }, el('span', {}, it.policy), count, el('span', { class: 'meter' }, meter));
    }), byPolicy.length ? null : el('p', { class: 'muted' }, 'Nobody was refused anything since this replica began.')]);
    update($('latest'), latest, () => latest.slice(0, 20).map((it) => el('li', {},
      it.kind === 'BareMetalHost' && it.name ? link(it.namespace, it.name) : el('span', { class: 'what' }, it.kind + ' ' + it.namespace + '/' + (it.name || '(unnamed)')),
      el('span', { class: 'muted' }, ' ' + it.operation.toLowerCase() + (it.isDryRun ? ', dry run, ' : ', '), ago(it.when)),
      ...it.causes.map((cause) => el('div', {}, cause.message)))));
  };

  const since = (when) => {
    let value = Math.max(0, (Date.now() - new Date(when)) / 1000);
    let text = '';
    for (const [size, name] of [[60, 's'], [60, 'min'], [24, 'h'], [365, 'd']]) {
      text = Math.floor(value) + ' ' + name;
      if (value < size) break;
      value /= size;
    }
    return text + ' ago';
  };
  const ago = (when) => el('time', { datetime: when, title: new Date(when).toLocaleString() }, since(when));
  const span = (from, to) => {
    const seconds = Math.round((new Date(to) - new Date(from)) / 1000);
    if (seconds < 60) return seconds + ' s';
    if (seconds < 3600) return Math.round(seconds / 60) + ' min';
    return (seconds / 3600).toFixed(1) + ' h';
  };

  const open = (row) => { location.hash = address(row.namespace, row.name); };
  const close = () => { location.hash = '#/'; $('list').focus({ preventScroll: true }); };
  const named = () => {
    const parts = location.hash.split('/');
    if (parts[1] !== 'host' || parts.length !== 4) return null;
    try { return parts.slice(2).map(decodeURIComponent); } catch { return null; }
  };
  const route = () => {
    const wasOpen = chosen !== null;
    chosen = named();
    $('host').hidden = !chosen;
    $('side').hidden = Boolean(chosen);
    if (!chosen) { update($('host-body'), null, () => []); return; }
    $('host-name').textContent = chosen[1];
    update($('host-body'), '…', () => [el('p', { class: 'muted' }, '…')]);
    if (!wasOpen) $('host').focus({ preventScroll: true });
    refreshHost().catch(() => {});
  };

  const refreshHost = async () => {
    if (!chosen) return;
    const [namespace, name] = chosen;
    let host;
    try {
      host = await get('/api/hosts/' + encodeURIComponent(namespace) + '/' + encodeURIComponent(name));
    } catch (error) {
      if (chosen && chosen[1] === name) update($('host-body'), error.message, () => [el('p', { class: 'muted' }, error.message)]);
      return;
    }
    if (!chosen || chosen[0] !== namespace || chosen[1] !== name) return;
    const fact = (term, value) => (value ? [el('dt', {}, term), el('dd', {}, value)] : []);
    const power = (host.isOn ? 'on' : 'off') + (host.isOn === host.isWantedOn ? '' : host.isWantedOn ? ', and is to be on' : ', and is to be off');
    const labels = Object.entries(host.labels).map(([key, value]) => el('span', { class: 'label mono' }, key + (value ? '=' + value : '')));
    update($('host-body'), host, () => [
      host.trouble ? el('div', { class: 'alarm ' + host.trouble.kind },
        el('p', {}, el('span', { class: 'tag ' + host.trouble.kind }, host.trouble.kind), host.trouble.reason),
        el('p', {}, el('b', {}, 'Next step: '), host.trouble.nextStep)) : null,
      el('dl', { class: 'facts' },
        ...fact('State', el('span', { class: 'state ' + tint(host.state) }, el('span', { class: 'dot' }), host.state)),
        ...fact('Namespace', host.namespace), ...fact('Power', power), ...fact('Used by', host.consumer), ...fact('Image', host.image),
        ...fact('Hardware', host.hardware), ...fact('Boot MAC', host.mac && el('span', { class: 'mono' }, host.mac)),
        ...fact('BMC', host.bmc && el('span', { class: 'mono' }, host.bmc)), ...fact('Found by', host.discoveredBy),
        ...fact('Labels', labels.length ? el('span', {}, ...labels) : null)),
      el('h2', {}, 'What happened'),
      el('ol', { class: 'timeline' }, ...host.timeline.map((it) => el('li', { class: 'tone-' + it.tone },
        el('div', { class: 'what' }, it.what), it.about ? el('div', { class: 'about' }, it.about) : null,
        el('div', {}, ago(it.when), it.until ? el('span', { class: 'muted' }, ', took ' + span(it.when, it.until)) : it.goes_on ? el('span', { class: 'muted' }, ', goes on') : null))))]);
  };

  $('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    token = $('token').value.trim();
    $('refusal').hidden = true;
    try {
      await signIn();
    } catch (error) {
      if (token) signOut(error.message);
    }
  });
  $('sign-out').addEventListener('click', () => signOut(''));
  $('close').addEventListener('click', close);
  $('waiting-all').addEventListener('click', () => { filter.waiting = !filter.waiting; changed(); });
  let typing = 0;
  $('search').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => { filter.q = $('search').value; changed(); }, 120);
  });
  let isDrawing = false;
  $('list').addEventListener('scroll', () => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => { isDrawing = false; draw(); });
  }, { passive: true });
  $('list').addEventListener('keydown', (event) => {
    const page = Math.max(1, Math.floor($('list').clientHeight / height()) - 1);
    const moves = { ArrowDown: view.active + 1, ArrowUp: view.active - 1, PageDown: view.active + page, PageUp: view.active - page, Home: 0, End: view.total - 1 };
    if (event.key in moves) { event.preventDefault(); move(moves[event.key]); }
    else if (event.key === 'Enter' && rowAt(view.active)) open(rowAt(view.active));
  });
  document.addEventListener('keydown', (event) => {
    const isTyping = document.activeElement && document.activeElement.tagName === 'INPUT';
    if (event.key === 'Escape' && chosen) close();
    else if (event.key === '/' && !isTyping && !$('app').hidden) { event.preventDefault(); $('search').focus(); }
    else if (event.key === 'ArrowDown' && document.activeElement === $('search')) { event.preventDefault(); $('list').focus(); move(0); }
  });
  addEventListener('hashchange', route);
  addEventListener('resize', () => { measure(); $('space').style.height = view.total * height() + 'px'; draw(); });
  setInterval(() => { for (const time of document.querySelectorAll('time')) time.textContent = since(time.dateTime); }, 10000);
  if (token) signIn().catch((error) => { if (token) signOut(error.message); });
})();
