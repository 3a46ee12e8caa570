import { API_PREFIX } from '@rmm/contracts';

/** A rule for the routes that begin with `path`, relative to /api/v1; `:name` matches one segment. */
export interface PathRule {
  path: string;
  /** Applies to this path only, not to those below it. */
  exact?: true;
  /** The path is that of a page outside /api/v1. */
  unprefixed?: true;
}

/** Finds the rule with the longest matching path. */
export class PathRules<R extends PathRule> {
  private readonly rules: readonly { test: RegExp; rule: R }[];

  constructor(rules: readonly R[]) {
    this.rules = [...rules]
      .sort((a, b) => b.path.length - a.path.length)
      .map((rule) => ({ rule, test: patternOf(rule) }));
  }

  find(pathname: string): R | undefined {
    for (const { test, rule } of this.rules) if (test.test(pathname)) return rule;
    return undefined;
  }
}

function patternOf({ path, exact, unprefixed }: PathRule): RegExp {
  const escaped = path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z]+/g, '[^/]+');
  return new RegExp(`^${unprefixed ? '' : API_PREFIX}${escaped}${exact ? '/?$' : '(?:/|$)'}`, 'i');
}
