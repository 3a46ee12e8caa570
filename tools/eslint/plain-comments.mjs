/** First words of a clause without a subject, where a docstring begins with a verb. */
const FRAGMENT = /^(What|Whose|Of|As|Whether|Where|Who|Whom|Whoever|So|Those|That|Such|How|Why|Which)\b/;
const PHRASES = [[/\bthe own\b/i, 'your, its']];

/** Removes the stars of a block comment. */
const textOf = ({ value }) => value.replace(/^\s*\*+ ?/gm, '').trim();

/** Requires that a docstring begins with a verb or a noun, and refuses a few phrases that are not English. */
export const plainComments = {
  meta: {
    type: 'suggestion',
    docs: { description: 'require docstrings that say what a thing does' },
    schema: [],
    messages: {
      fragment: 'Begin the docstring with a verb ("Returns...") or a noun, not with "{{ word }}".',
      phrase: '"{{ phrase }}" is not English; use: {{ use }}.',
    },
  },
  create(context) {
    const phrases = (loc, text) => {
      for (const [pattern, use] of PHRASES) {
        const [phrase] = pattern.exec(text) ?? [];
        if (phrase) context.report({ loc, messageId: 'phrase', data: { phrase, use } });
      }
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const text = textOf(comment);
          const isDocstring = comment.type === 'Block' && comment.value.startsWith('*');
          const [, word] = (isDocstring && FRAGMENT.exec(text)) || [];
          if (word) context.report({ loc: comment.loc, messageId: 'fragment', data: { word } });
          phrases(comment.loc, text);
        }
      },
      Literal: (node) => typeof node.value === 'string' && phrases(node.loc, node.value),
      TemplateElement: (node) => phrases(node.loc, node.value.raw),
    };
  },
};
