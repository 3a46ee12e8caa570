import { Language, Parser, type Node } from '@vscode/tree-sitter-wasm';
import { createRequire } from 'node:module';

const GRAMMAR = createRequire(import.meta.url).resolve('@vscode/tree-sitter-wasm/wasm/tree-sitter-powershell.wasm');
const SHOWN_CHARACTERS = 80;
let parser: Promise<Parser> | undefined;

/**
 * Returns the syntax errors of a PowerShell script, each with its line and text; none for a script that can be parsed.
 * The grammar refuses two forms that PowerShell accepts: lists of names without quotes (`Select-Object Name, Id`) and upper-case
 * units (`1GB`). Write `'Name', 'Id'` and `1gb`. It accepts `try` without `catch`.
 */
export async function powerShellErrors(script: string): Promise<string[]> {
  const tree = (await (parser ??= createParser())).parse(script);
  if (!tree) throw new Error('the parser has no language');
  try {
    return errorsIn(tree.rootNode);
  } finally {
    tree.delete();
  }
}

async function createParser(): Promise<Parser> {
  await Parser.init();
  return new Parser().setLanguage(await Language.load(GRAMMAR));
}

function errorsIn(node: Node): string[] {
  const inChildren = node.children.flatMap((child) => (child?.hasError ? errorsIn(child) : []));
  if (!node.isError && !node.isMissing) return inChildren;
  const problem = node.isMissing ? `missing ${node.type}` : JSON.stringify(node.text.slice(0, SHOWN_CHARACTERS));
  return [`line ${node.startPosition.row + 1}: ${problem}`, ...inChildren];
}
