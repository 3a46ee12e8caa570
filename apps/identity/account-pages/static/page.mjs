/** Helpers of all pages: texts, messages, forms, navigation. Values of users are set as text only. */
import { ApiError, openSession } from './api.mjs';

/** @type {Record<string, string>} */
let texts = {};

export async function loadTexts() {
  const response = await fetch(new URL(`${document.documentElement.lang}.json`, import.meta.url));
  texts = await response.json();
}

/**
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  return (texts[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/**
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement}
 */
export function find(selector, within = document) {
  const element = within.querySelector(selector);
  if (!(element instanceof HTMLElement)) throw new Error(`no element ${selector}`);
  return element;
}

/**
 * @param {string} selector
 * @param {ParentNode} [within]
 */
export const exists = (selector, within = document) => within.querySelector(selector) !== null;

/**
 * Shows or hides elements.
 * @param {string} selector
 * @param {boolean} isVisible
 */
export function show(selector, isVisible = true) {
  for (const element of document.querySelectorAll(selector)) /** @type {HTMLElement} */ (element).hidden = !isVisible;
}

/**
 * Shows one step of a page instead of the others and moves the focus to its heading.
 * @param {string} name
 */
export function showStep(name) {
  for (const element of document.querySelectorAll('[data-step]')) {
    /** @type {HTMLElement} */ (element).hidden = element.getAttribute('data-step') !== name;
  }
  const heading = find(`[data-step="${name}"]`).querySelector('h1, h2');
  if (heading instanceof HTMLElement) {
    heading.tabIndex = -1;
    heading.focus();
    document.title = `${heading.textContent?.trim()} · ${document.documentElement.dataset.product}`;
  }
}

/**
 * Sets the text of all places with a name: `<span data-value="email">`.
 * @param {Record<string, string | number | null | undefined>} values
 * @param {ParentNode} [within]
 */
export function fill(values, within = document) {
  for (const [name, value] of Object.entries(values)) {
    for (const element of within.querySelectorAll(`[data-value="${name}"]`)) element.textContent = String(value ?? '');
  }
}

/**
 * Replaces the entries of a list by copies of its template.
 * @template T
 * @param {string} name
 * @param {readonly T[]} items
 * @param {(entry: HTMLElement, item: T) => void} render
 */
export function fillList(name, items, render) {
  const list = find(`[data-list="${name}"]`);
  const template = find(`template[data-entry="${name}"]`);
  if (!(template instanceof HTMLTemplateElement)) throw new Error(`no template ${name}`);
  list.replaceChildren(
    ...items.map((item) => {
      const entry = template.content.firstElementChild?.cloneNode(true);
      if (!(entry instanceof HTMLElement)) throw new Error(`empty template ${name}`);
      render(entry, item);
      return entry;
    }),
  );
  list.hidden = items.length === 0;
}

/** @param {string} text */
export function announce(text) {
  const status = find('#status');
  status.textContent = text;
  status.hidden = text === '';
  status.scrollIntoView({ block: 'nearest' });
}

/**
 * Returns the text for an error; codes without one get a general text with the request id, for support.
 * @param {unknown} error
 */
export function errorText(error) {
  if (!(error instanceof ApiError)) {
    const name = error instanceof Error ? error.name : '';
    if (['NotAllowedError', 'AbortError', 'InvalidStateError'].includes(name)) return t(`error.${name}`);
    console.error(error);
    return t('error.unknown', { id: '-' });
  }
  const { code, status, body } = error;
  if (code === 'rate_limited') return t('error.rate_limited', { minutes: Math.ceil((body.retryAfter ?? 60) / 60) });
  if (code === 'sso_enforced' && body.provider) return t('sso.enforced', { provider: body.provider });
  const key = [`error.${code}`, `error.${status}`].find((one) => texts[one] !== undefined);
  return key ? t(key) : t('error.unknown', { id: body.requestId ?? '-' });
}

/** @typedef {Record<string, string>} Values */

/**
 * Handles a form: its values go to `submit`, errors are shown in it. Buttons of forms are disabled until then, so that
 * a page without script never sends a password anywhere.
 * @param {string} name
 * @param {(values: Values, form: HTMLFormElement) => Promise<unknown>} submit
 */
export function onSubmit(name, submit) {
  const form = document.querySelector(`form[data-form="${name}"]`);
  if (!(form instanceof HTMLFormElement)) return;
  enable(form);
  for (const box of form.querySelectorAll('[data-show-password]')) {
    box.addEventListener('change', () => {
      for (const input of form.querySelectorAll('input[data-password]')) {
        /** @type {HTMLInputElement} */ (input).type = /** @type {HTMLInputElement} */ (box).checked
          ? 'text'
          : 'password';
      }
    });
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const values = /** @type {Values} */ (Object.fromEntries(new FormData(form)));
    void attempt(form, async () => {
      await submit(values, form);
      form.closest('details')?.removeAttribute('open');
    });
  });
}

/**
 * Handles a button outside of a form. Its errors are shown next to it.
 * @param {string | HTMLElement} target
 * @param {() => Promise<unknown>} act
 */
export function onClick(target, act) {
  const button = typeof target === 'string' ? document.querySelector(target) : target;
  if (!(button instanceof HTMLButtonElement)) return;
  button.disabled = false;
  const area = button.closest('[data-errors]') ?? button.parentElement ?? document.body;
  button.addEventListener('click', () => void attempt(/** @type {HTMLElement} */ (area), act));
}

/**
 * Runs an act once at a time and shows its error in the element.
 * @param {HTMLElement} area
 * @param {() => Promise<unknown>} act
 */
async function attempt(area, act) {
  if (area.getAttribute('aria-busy') === 'true') return;
  area.setAttribute('aria-busy', 'true');
  showError(area, '');
  announce('');
  try {
    await act();
  } catch (error) {
    showFieldErrors(area, error);
    showError(area, errorText(error));
  } finally {
    area.removeAttribute('aria-busy');
  }
}

/** @param {HTMLFormElement} form */
function enable(form) {
  for (const button of form.querySelectorAll('button')) button.disabled = false;
}

/**
 * @param {HTMLElement} area
 * @param {string} text
 */
export function showError(area, text) {
  let box = area.querySelector(':scope > .message.error');
  if (!box) {
    if (text === '') return;
    box = document.createElement('p');
    box.className = 'message error';
    box.setAttribute('role', 'alert');
    area.prepend(box);
  }
  box.textContent = text;
  /** @type {HTMLElement} */ (box).hidden = text === '';
  if (text !== '') return;
  for (const input of area.querySelectorAll('[aria-invalid]')) input.removeAttribute('aria-invalid');
}

/**
 * Marks the inputs that the API refused.
 * @param {HTMLElement} area
 * @param {unknown} error
 */
function showFieldErrors(area, error) {
  if (!(error instanceof ApiError)) return;
  const refused = Object.keys(error.body.details?.fieldErrors ?? {});
  if (error.code === 'weak_password') refused.push('password', 'newPassword');
  if (['invalid_credentials', 'login_failed'].includes(error.code)) refused.push('currentPassword', 'password');
  if (['mfa_code_invalid', 'mfa_proof_invalid'].includes(error.code)) refused.push('code');
  /** @type {HTMLElement | null} */
  let first = null;
  for (const name of refused) {
    const input = area.querySelector(`[name="${CSS.escape(name)}"]`);
    input?.setAttribute('aria-invalid', 'true');
    first ??= /** @type {HTMLElement | null} */ (input);
  }
  first?.focus();
}

/** @param {string} name */
export const parameter = (name) => new URLSearchParams(location.search).get(name);

/**
 * Returns the page to show after sign-in: a page of this folder, never another site.
 * @returns {string}
 */
export function returnPage() {
  const wanted = parameter('returnTo') ?? '';
  return /^\/?[a-z][a-z-]*(?:\?[\w=&%.-]*)?$/.test(wanted) ? wanted.replace(/^\//, '') : 'security';
}

/**
 * Opens another page of the folder.
 * @param {string} page
 */
export const go = (page) => location.assign(page);

/** Opens the session, or leads to the sign-in page and back. @returns {Promise<boolean>} */
export async function requireSession() {
  if (await openSession()) return true;
  const page = location.pathname.split('/').at(-1) ?? 'security';
  location.replace(`login?returnTo=${encodeURIComponent(`/${page}${withoutLanguage(location.search)}`)}`);
  return false;
}

/** @param {string} search */
function withoutLanguage(search) {
  const parameters = new URLSearchParams(search);
  parameters.delete('lang');
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** Removes a used token from the address bar and the history. */
export const hideToken = () => history.replaceState(null, '', location.pathname);

/** @param {string} iso */
export const formatTime = (iso) =>
  new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(iso),
  );
