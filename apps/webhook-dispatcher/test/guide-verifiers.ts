import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';

const GUIDE = resolve(__dirname, '../../../docs/guides/receiving-webhooks.md');

/** A request to verify. */
export interface SignedRequest {
  /** Base64 of the bytes. */
  body: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  secret: string;
  nowMs: number;
}

/** Runs the code of the guide in one language. */
export interface GuideVerifier {
  language: string;
  /** False where this machine cannot run it. */
  isRunnable: boolean;
  /** Verifies each request with the code of the guide, in one process. */
  verify: (dir: string, requests: readonly SignedRequest[]) => boolean[];
}

const TYPESCRIPT_DRIVER = `
import { readFileSync } from 'node:fs';
import { isValidSignature } from './guide.mjs';
const requests = JSON.parse(readFileSync(0, 'utf8'));
const results = requests.map(({ body, headers, secret, nowMs }) =>
  isValidSignature(Buffer.from(body, 'base64'), headers, secret, nowMs));
console.log(JSON.stringify(results));
`;

const PYTHON_DRIVER = `
import base64, email.message, json, sys
from guide import is_valid_signature

def headers_of(given):
    message = email.message.Message()
    for name, value in given.items():
        message[name] = value
    return message

print(json.dumps([
    is_valid_signature(base64.b64decode(r["body"]), headers_of(r["headers"]), r["secret"], r["nowMs"])
    for r in json.load(sys.stdin)
]))
`;

const GO_DRIVER = `
package main

import (
	"encoding/json"
	"net/http"
	"os"
	"time"

	"guide/webhooks"
)

type signedRequest struct {
	Body    []byte            \`json:"body"\`
	Headers map[string]string \`json:"headers"\`
	Secret  string            \`json:"secret"\`
	NowMs   int64             \`json:"nowMs"\`
}

func main() {
	var requests []signedRequest
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		panic(err)
	}
	results := []bool{}
	for _, r := range requests {
		header := http.Header{}
		for name, value := range r.Headers {
			header.Set(name, value)
		}
		results = append(results, webhooks.IsValidSignature(r.Body, header, r.Secret, time.UnixMilli(r.NowMs)))
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
}
`;

const PHP_DRIVER = `<?php
require __DIR__ . '/guide.php';
$results = array_map(
    fn ($r) => is_valid_signature(base64_decode($r['body']), $r['headers'], $r['secret'], $r['nowMs']),
    json_decode(stream_get_contents(STDIN), true),
);
echo json_encode($results);
`;

export const GUIDE_VERIFIERS: readonly GuideVerifier[] = [
  verifier('ts', process.execPath, ['driver.mjs'], (source) => ({
    'guide.mjs': transpiled(source),
    'driver.mjs': TYPESCRIPT_DRIVER,
  })),
  verifier('python', 'python3', ['driver.py'], (source) => ({ 'guide.py': source, 'driver.py': PYTHON_DRIVER })),
  verifier('go', 'go', ['run', '.'], (source) => ({
    'go.mod': 'module guide\n\ngo 1.19\n',
    'webhooks/guide.go': source,
    'main.go': GO_DRIVER,
  })),
  verifier('php', 'php', ['driver.php'], (source) => ({ 'guide.php': source, 'driver.php': PHP_DRIVER })),
];

function verifier(
  language: string,
  command: string,
  args: string[],
  filesOf: (source: string) => Record<string, string>,
): GuideVerifier {
  return {
    language,
    isRunnable: isInstalled(command),
    verify: (dir, requests) => {
      const root = join(dir, language);
      for (const [name, text] of Object.entries(filesOf(codeOf(language)))) {
        mkdirSync(dirname(join(root, name)), { recursive: true });
        writeFileSync(join(root, name), text);
      }
      const output = execFileSync(command, args, { cwd: root, input: JSON.stringify(requests), encoding: 'utf8' });
      return JSON.parse(output) as boolean[];
    },
  };
}

/** Checks both spellings, since each runtime accepts one of them. */
function isInstalled(command: string): boolean {
  return ['--version', 'version'].some((argument) => spawnSync(command, [argument], { stdio: 'ignore' }).status === 0);
}

/** Returns the block of the guide in a language. */
function codeOf(language: string): string {
  const blocks = [
    ...readFileSync(GUIDE, 'utf8').matchAll(new RegExp(`\`\`\`${language} verify\\n([\\s\\S]*?)\`\`\``, 'g')),
  ];
  if (blocks.length !== 1) throw new Error(`the guide has ${blocks.length} blocks to verify with in ${language}`);
  return blocks[0]?.[1] ?? '';
}

function transpiled(source: string): string {
  const { outputText, diagnostics } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 },
    reportDiagnostics: true,
  });
  if (diagnostics?.length) throw new Error(ts.flattenDiagnosticMessageText(diagnostics[0]?.messageText, '\n'));
  return outputText;
}
