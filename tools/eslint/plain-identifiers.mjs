import { EVERYWHERE, IN_IDENTIFIERS, METHOD_NAMES, NAMES, SPELLING, formsOf } from './plain-words.mjs';

const WORDS = formsOf(EVERYWHERE, IN_IDENTIFIERS, SPELLING);

/** Splits `keyDoor`, `KeyDoor` and `KEY_DOOR` into lower-case words. */
const wordsOf = (name) =>
  name
    .split(/[_$]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .filter(Boolean)
    .map((word) => word.toLowerCase());

/** Collects the identifiers that a pattern declares: `{ a, b: [c] } = {}` declares `a` and `c`. */
function declaredIn(pattern) {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern];
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) => declaredIn(property.value ?? property.argument));
    case 'ArrayPattern':
      return pattern.elements.flatMap(declaredIn);
    case 'AssignmentPattern':
      return declaredIn(pattern.left);
    case 'RestElement':
      return declaredIn(pattern.argument);
    case 'TSParameterProperty':
      return declaredIn(pattern.parameter);
    default:
      return [];
  }
}

/**
 * Refuses declared names that contain a word of `plain-words.mjs`. `id-denylist` compares whole names only. Names that
 * other packages declare are not reported: a use is not a declaration.
 */
export const plainIdentifiers = {
  meta: {
    type: 'suggestion',
    docs: { description: 'disallow replaced words inside identifiers' },
    schema: [],
    messages: {
      word: '"{{ name }}" contains "{{ word }}"; use: {{ use }}.',
      name: '"{{ name }}" was replaced by {{ use }}.',
      method: 'The method "{{ name }}" does not say what it does; use a verb and its object.',
    },
  },
  create(context) {
    const check = (node) => {
      if (node?.type !== 'Identifier') return;
      const { name } = node;
      if (Object.hasOwn(NAMES, name)) {
        context.report({ node, messageId: 'name', data: { name, use: NAMES[name] } });
        return;
      }
      const word = wordsOf(name).find((part) => WORDS.has(part));
      if (word) context.report({ node, messageId: 'word', data: { name, word, use: WORDS.get(word) } });
    };
    const checkKey = (node) => !node.computed && check(node.key);
    const checkPatterns = (patterns) => patterns.flatMap(declaredIn).forEach(check);
    const checkFunction = (node) => {
      check(node.id);
      checkPatterns(node.params);
    };
    const checkId = (node) => check(node.id);
    return {
      VariableDeclarator: (node) => checkPatterns([node.id]),
      FunctionDeclaration: checkFunction,
      FunctionExpression: checkFunction,
      ArrowFunctionExpression: checkFunction,
      ClassDeclaration: checkId,
      ClassExpression: checkId,
      TSInterfaceDeclaration: checkId,
      TSTypeAliasDeclaration: checkId,
      TSEnumDeclaration: checkId,
      TSEnumMember: checkId,
      PropertyDefinition: checkKey,
      TSAbstractPropertyDefinition: checkKey,
      TSPropertySignature: checkKey,
      TSMethodSignature: checkKey,
      MethodDefinition(node) {
        checkKey(node);
        if (!node.computed && node.kind === 'method' && METHOD_NAMES.includes(node.key.name)) {
          context.report({ node: node.key, messageId: 'method', data: { name: node.key.name } });
        }
      },
    };
  },
};
