<?php
declare(strict_types=1);

namespace App\Core;

use App\Tokens\Token;
use App\Errors\{Expired, Forged as Fake};
use function App\helper;

const LIFETIME = 60;

/**
 * Validates tokens.
 */
#[Service]
abstract class AuthValidator extends Base implements Validator, \Countable
{
    public const MAX = 3;
    private string $key = 'x';
    protected static ?array $cache;

    public function __construct(private readonly Store $store, int $limit = 3) {}

    /** Validates. */
    public static function validate(string $token, ?int ...$flags): ?Token
    {
        return null;
    }
    abstract protected function refresh(): void;
    function open() {}
}

interface Validator { public function accepts(string $token): bool; }
trait Loggable { private function log() {} }
enum Reason: string { case Expired = 'expired'; case Forged = 'forged'; public function text(): string { return ''; } }

function helper(int $a): int { return $a; }
