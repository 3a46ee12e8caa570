/** Decorators of @rmm/access that declare which credential a route requires. */
export const ROUTE_ACCESS = [
  'RequirePermission',
  'SignedIn',
  'Public',
  'AcceptsApiKey',
  'PartnerKey',
  'AgentToken',
  'ScimToken',
];

/** Decorators of @nestjs/common that declare a route. */
const ROUTES = ['Get', 'Post', 'Put', 'Patch', 'Delete', 'Head', 'Options', 'All', 'Search', 'Sse'];

/** The name of `@Name`, `@Name()` and `@access.Name()`. */
function nameOf(decorator) {
  const called = decorator.expression.type === 'CallExpression' ? decorator.expression.callee : decorator.expression;
  if (called.type === 'Identifier') return called.name;
  return called.type === 'MemberExpression' && called.property.type === 'Identifier' ? called.property.name : undefined;
}

const namesOf = (node) => (node.decorators ?? []).map(nameOf);
const routeAccessOf = (node) => namesOf(node).filter((name) => ROUTE_ACCESS.includes(name));
const isRoute = (node) => namesOf(node).some((name) => ROUTES.includes(name));

/**
 * Requires exactly one access decorator per route, on the method or on its class. Start-up checks the same; this reports
 * it in the editor.
 */
export const oneAccessDecoratorPerRoute = {
  meta: {
    type: 'problem',
    docs: { description: 'require exactly one access decorator on every route of a controller' },
    schema: [],
    messages: {
      none: 'Route {{ route }} has no access decorator: declare one of {{ decorators }}.',
      several:
        'Route {{ route }} has {{ count }} access decorators ({{ found }}): declare exactly one, on the method or on the class.',
    },
  },
  create(context) {
    function check(controller) {
      const shared = routeAccessOf(controller);
      const className = controller.id?.name ?? 'the controller';
      for (const member of controller.body.body) {
        if (member.type !== 'MethodDefinition' || !isRoute(member)) continue;
        const found = [...shared, ...routeAccessOf(member)];
        if (found.length === 1) continue;
        const route = `${className}.${member.key.name ?? member.key.value ?? '?'}`;
        context.report({
          node: member.key,
          messageId: found.length === 0 ? 'none' : 'several',
          data: {
            route,
            count: String(found.length),
            found: found.join(', '),
            decorators: ROUTE_ACCESS.map((name) => `@${name}`).join(', '),
          },
        });
      }
    }
    const checkController = (node) => {
      if (namesOf(node).includes('Controller')) check(node);
    };
    return { ClassDeclaration: checkController, ClassExpression: checkController };
  },
};
