export { rowSecurityProblems } from './row-security-problems.js';
