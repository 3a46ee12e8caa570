export * from './simulate-agents.js';
export * from './simulated-agent.js';
export * from './simulation.js';
