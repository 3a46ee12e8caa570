const QUERY = /^\s*(--[^\n]*\n\s*)*(SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|WITH|TRUNCATE|LOCK\s+TABLE)\s+["\w(*$.]/;
/** Lower-case SQL needs a second keyword: "select a role" and "update failed" are English. */
const LOWER_CASE =
  /^\s*(select\s[\s\S]*\sfrom\s|insert\s+into\s+[\w".]+\s*(\(|select|values)|update\s+[\w".]+\s+(as\s+)?\w*\s*set\s|delete\s+from\s+[\w".]+|with\s+(recursive\s+)?\w+(\s*\([^)]*\))?\s+as\s+)/;

/** Refuses the text of a query: it belongs into a `*.repository.ts` or a migration. */
export const queriesInRepositories = {
  meta: {
    type: 'problem',
    docs: { description: 'disallow SQL outside repositories and migrations' },
    schema: [],
    messages: { query: 'Move this query into a *.repository.ts (or a migration).' },
  },
  create(context) {
    const check = (node, text) => {
      if (QUERY.test(text) || LOWER_CASE.test(text)) context.report({ node, messageId: 'query' });
    };
    return {
      Literal: (node) => typeof node.value === 'string' && check(node, node.value),
      TemplateLiteral: (node) => check(node, node.quasis.map((part) => part.value.raw).join('$')),
    };
  },
};
