import { DEFAULT_LANGUAGE, isPageLanguage, type PageLanguage } from './page-texts.js';

export interface LanguageSources {
  /** `?lang=`, of the switch */
  query?: unknown;
  /** The cookie that the switch set before. */
  cookie?: string;
  /** The header Accept-Language. */
  accepted?: string;
}

/** Chooses the language of a page: the switch, then its cookie, then the languages of the browser, then English. */
export function choosePageLanguage({ query, cookie, accepted = '' }: LanguageSources): PageLanguage {
  if (isPageLanguage(query)) return query;
  if (isPageLanguage(cookie)) return cookie;
  return rankLanguages(accepted).find(isPageLanguage) ?? DEFAULT_LANGUAGE;
}

/** Returns the languages of a header Accept-Language without regions, the most wanted first. */
function rankLanguages(accepted: string): string[] {
  const weighted = accepted.split(',', 20).map((part) => {
    const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
    const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
    return { language: tag.split('-', 1)[0] ?? '', quality: Number(quality ?? 1) };
  });
  return weighted
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ language }) => language);
}
