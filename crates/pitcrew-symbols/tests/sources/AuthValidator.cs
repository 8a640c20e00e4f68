using System;
using System.Collections.Generic;
using static System.Math;
using Dict = System.Collections.Generic.Dictionary<string, int>;

namespace Example.Core
{
    /// <summary>Validates tokens.</summary>
    [Serializable]
    public abstract class AuthValidator<T> : Base<T>, IValidator where T : class, new()
    {
        public const int Lifetime = 60;
        private readonly string _key = "x";
        public string Name { get; set; } = "a";
        public int Size => 3;
        public event EventHandler Expired;

        public AuthValidator(string key) : base(key) { }

        /// <summary>
        /// Validates.
        /// </summary>
        [Obsolete]
        public virtual async Task<T> ValidateAsync(string token, int retries = 3) { return null; }
        protected abstract void Refresh();
        void Hidden() => Console.WriteLine();
    }

    internal interface IValidator { bool Accepts(string token); }
    public enum Reason : byte { Expired = 1, Forged }
    public record Point(int X, int Y);
    public struct Pair { public int A; }
    public delegate void Handler(object sender);
}
