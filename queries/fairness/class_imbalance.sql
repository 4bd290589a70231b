-- Class imbalance: (n - m) / (n + m) of the weights of two groups.
-- Without a reference: the largest over all pairs, unsigned. With one: group against reference, signed,
-- the largest in size; of two alike the lower.
WITH sizes AS (
    SELECT slice, "group", n, sum(n) OVER (PARTITION BY slice) AS everyone
    FROM (SELECT slice, "group", sum(weight) AS n
          FROM rows
          WHERE "group" IS NOT NULL
          GROUP BY ALL)
    WHERE n > 0
),
compared AS (
    SELECT a.slice,
           CASE getvariable('ref_kind')
               WHEN 'overall' THEN a.everyone
               WHEN 'rest' THEN a.everyone - a.n
               ELSE b.n
           END AS m,
           (a.n - m) / (a.n + m) AS x
    FROM sizes AS a
    JOIN sizes AS b
        ON b.slice IS NOT DISTINCT FROM a.slice AND a."group" <> b."group"
    WHERE getvariable('ref_kind') IS DISTINCT FROM 'value' OR b."group" = getvariable('ref')
)
SELECT everyone.slice,
       CASE WHEN getvariable('ref_kind') IS NULL THEN max(abs(x))
            ELSE first(x ORDER BY round(abs(x), 12) DESC, x) FILTER (x IS NOT NULL)
       END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN compared ON compared.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
