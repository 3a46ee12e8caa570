import { RuleTester } from 'eslint';
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import tseslint from 'typescript-eslint';
import plugin from './index.mjs';
import { oneAccessDecoratorPerRoute } from './one-access-decorator-per-route.mjs';

RuleTester.describe = describe;
RuleTester.it = it;
RuleTester.afterAll = after;

const tester = new RuleTester({ languageOptions: { parser: tseslint.parser } });
const controller = (body, decorators = '') => `${decorators} @Controller('sites') class SitesController { ${body} }`;

tester.run('one-access-decorator-per-route', oneAccessDecoratorPerRoute, {
  valid: [
    { name: 'a decorator on the method', code: controller(`@Get() @RequirePermission('sites:read') list() {}`) },
    {
      name: 'a decorator on the class for all its routes',
      code: controller('@Get() a() {} @Post() b() {}', '@Public()'),
    },
    {
      name: 'constraints in addition to the decorator',
      code: controller(`@Post() @RequirePermission('sites:write') @RequireMfa() @AllowScopes('partner') create() {}`),
    },
    { name: 'a decorator of a namespace', code: controller('@Get() @access.SignedIn() me() {}') },
    { name: 'methods that are not routes', code: controller('list() {} @Memoize() find() {}') },
    { name: 'message handlers', code: controller('@EventPattern(A) onEvent() {} @MessagePattern(B) onRequest() {}') },
    { name: 'classes that are not controllers', code: 'class Sites { @Get() list() {} }' },
    {
      name: 'an exported controller',
      code: `@Controller() export class A { @Delete(':id') @AcceptsApiKey() remove() {} }`,
    },
  ],
  invalid: [
    {
      name: 'no decorator',
      code: controller('@Get() list() {}'),
      errors: [{ messageId: 'none', line: 1 }],
    },
    {
      name: 'a constraint alone',
      code: controller('@Post() @RequireMfa() create() {}'),
      errors: [{ messageId: 'none' }],
    },
    {
      name: 'two decorators on one method',
      code: controller('@Get() @Public() @SignedIn() list() {}'),
      errors: [{ messageId: 'several' }],
    },
    {
      name: 'a decorator on the class and another on the method',
      code: controller(`@Get() a() {} @Post() @PartnerKey('sites:write') b() {}`, '@SignedIn()'),
      errors: [{ messageId: 'several' }],
    },
    {
      name: 'each route without a decorator',
      code: controller('@Get() a() {} @Put() @AgentToken() b() {} @Sse() c() {}'),
      errors: [{ messageId: 'none' }, { messageId: 'none' }],
    },
    {
      name: 'a controller as an expression',
      code: 'const AnyController = @Controller() class { @All() any() {} };',
      errors: [{ messageId: 'none' }],
    },
  ],
});

it('is exported by the plugin under its name', () => {
  assert.equal(plugin.rules['one-access-decorator-per-route'], oneAccessDecoratorPerRoute);
});

it('knows the access decorators that the access lib exports', async () => {
  const { ROUTE_ACCESS } = await import('./one-access-decorator-per-route.mjs');
  const folder = new URL('../../libs/access/src/route-access/', import.meta.url);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.decorator.ts'));
  const sources = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')));
  const declared = [...sources.join('\n').matchAll(/export (?:const|function) (\w+)\b[^;]*?\bkind: '/g)];
  assert.deepEqual(declared.map(([, name]) => name).toSorted(), ROUTE_ACCESS.toSorted());
});
