/** WebAuthn ceremonies with the bundle of @simplewebauthn/browser, which the page loads before its own script. */

/** @returns {any} */
const library = () => /** @type {any} */ (globalThis).SimpleWebAuthnBrowser;

/** Browsers offer passkeys in secure contexts only: https, or localhost. */
export const passkeysAreSupported = () => library()?.browserSupportsWebAuthn() === true;

/** @param {unknown} optionsJSON */
export const assertPasskey = (optionsJSON) => library().startAuthentication({ optionsJSON });

/** @param {unknown} optionsJSON */
export const createPasskey = (optionsJSON) => library().startRegistration({ optionsJSON });
