const HALF_PAIRS = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Removes what PostgreSQL does not store in texts: zero characters and halves of surrogate pairs. */
export const toStorable = (text: string): string => text.replaceAll('\u0000', '').replace(HALF_PAIRS, '');
