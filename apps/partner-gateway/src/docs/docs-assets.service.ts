import { Injectable } from '@nestjs/common';
import { createReadStream, type ReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { NotFoundError } from '@rmm/service-kit';

const TYPES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};
const INITIALIZER = 'initializer.js';

/** Serves the files of the docs page from the installed package; nothing is fetched from another host. */
@Injectable()
export class DocsAssetsService {
  private readonly folder = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

  /** @throws NotFoundError for any other file name */
  open(name: string): { type: string; content: ReadStream | string } {
    if (name === INITIALIZER) return { type: 'text/javascript; charset=utf-8', content: SCRIPT };
    if (!Object.hasOwn(TYPES, name)) throw new NotFoundError();
    return { type: TYPES[name], content: createReadStream(path.join(this.folder, name)) };
  }

  /** Returns the HTML page. @param base the path of the base URL, without a trailing slash */
  page(base: string): string {
    return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Fleet API</title>
    <link rel="icon" type="image/png" href="${base}/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="${base}/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="docs" data-document="${base}/openapi.json"></div>
    <noscript>The document is at <a href="${base}/openapi.json">openapi.json</a>.</noscript>
    <script src="${base}/docs/swagger-ui-bundle.js"></script>
    <script src="${base}/docs/${INITIALIZER}"></script>
  </body>
</html>
`;
  }
}

const SCRIPT = `const docs = document.getElementById('docs');
SwaggerUIBundle({
  url: docs.dataset.document,
  domNode: docs,
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  persistAuthorization: false,
  tagsSorter: 'alpha',
  validatorUrl: null,
});
`;
