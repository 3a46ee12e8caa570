import de from './texts/de.json' with { type: 'json' };
import en from './texts/en.json' with { type: 'json' };

export type TextKey = keyof typeof en;

/** The texts of the account pages by language. A spec checks that all have the same keys and values. */
export const PAGE_TEXTS = { en, de } as const satisfies Record<string, Record<TextKey, string>>;

export type PageLanguage = keyof typeof PAGE_TEXTS;

export const PAGE_LANGUAGES = Object.keys(PAGE_TEXTS) as PageLanguage[];

export const DEFAULT_LANGUAGE: PageLanguage = 'en';

export const isPageLanguage = (value: unknown): value is PageLanguage =>
  typeof value === 'string' && Object.hasOwn(PAGE_TEXTS, value);
