const STYLE = `
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.3rem; } h1 small { font-weight: normal; opacity: .6; font-size: .9rem; }
  form { margin: 1rem 0; } input { font: inherit; padding: .3rem .5rem; width: 20rem; }
  details { border: 1px solid #8885; border-radius: 6px; margin: .6rem 0; padding: .5rem .8rem; }
  summary { cursor: pointer; } time, .to { opacity: .65; font-size: .9rem; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; } iframe { width: 100%; height: 20rem; border: 1px solid #8885; background: #fff; }`;

/** The mailbox as one page that works without a script and without a network. */
export function mailboxPage(messages, to) {
  const title = `Mailbox <small>${messages.length} message${messages.length === 1 ? '' : 's'}</small>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Mailbox</title><style>${STYLE}</style></head><body>
<h1>${title}</h1>
<form><input name="to" value="${escaped(to ?? '')}" placeholder="address or number"> <button>Show</button> <a href="/">all</a></form>
${messages.map(entry).join('\n') || '<p>Nothing was sent yet.</p>'}
</body></html>`;
}

function entry({ channel, to, subject, text, html, sentAt }) {
  const body = html ? `<iframe sandbox srcdoc="${escaped(html)}"></iframe>` : '';
  return `<details><summary><b>${escaped(subject ?? `(${channel})`)}</b> <span class="to">to ${escaped(to)}</span> <time>${escaped(sentAt)}</time></summary>
<pre>${escaped(text)}</pre>${body}</details>`;
}

function escaped(text) {
  const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return String(text).replace(/[&<>"]/g, (character) => entities[character]);
}
