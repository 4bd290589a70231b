-- Root mean squared error of the score, over matches, compared between user groups: without a reference
-- the smallest over the largest, else group over reference, of the group farthest from it.
WITH listed AS (
    -- recommendations; with repeats = 'drop' a repeated one is left once, with its best score
    SELECT slice, "group", "user", item,
           max(score) AS score, min(rank) AS rank, max(predicted) AS predicted
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
    GROUP BY slice, "group", "user", item,
             CASE WHEN getvariable('repeats') = 'drop' THEN -1 ELSE recs.rowid END
),
truth AS (
    SELECT slice, "user", item, max(value) AS value, max(propensity) AS propensity
    FROM actual
    WHERE "user" IS NOT NULL AND item IS NOT NULL AND value IS NOT NULL
    GROUP BY ALL
),
judged AS (
    SELECT *, EXISTS (SELECT 1 FROM actual AS a
                      WHERE a.slice IS NOT DISTINCT FROM l.slice
                        AND a."user" = l."user" AND a.item = l.item AND a.grade > 0) AS relevant
    FROM listed AS l
),
placed AS (
    SELECT *,
           coalesce(rank, row_number() OVER (
               PARTITION BY slice, "user"
               ORDER BY score DESC NULLS LAST,
                        CASE getvariable('ties')
                            WHEN 'optimistic' THEN (NOT relevant)::INT
                            WHEN 'pessimistic' THEN relevant::INT
                        END,
                        item
           )) AS place,
           rank() OVER (PARTITION BY slice, "user" ORDER BY score DESC NULLS LAST) - 1 AS above,
           count(*) OVER (PARTITION BY slice, "user", score) AS among
    FROM judged
),
shown AS (
    -- the chance that a row is among the first k, and its outcome, told of its first copy alone
    SELECT p.slice, p."group", p."user", p.item, p.score, p.predicted,
           CASE WHEN getvariable('k') IS NULL THEN 1.0
                WHEN getvariable('ties') = 'expected'
                THEN least(1, greatest(0, (getvariable('k') - above) / among))
                ELSE (place <= getvariable('k'))::INT
           END AS chance,
           t.value, t.propensity
    FROM placed AS p
    LEFT JOIN truth AS t
        ON t.slice IS NOT DISTINCT FROM p.slice AND t."user" = p."user" AND t.item = p.item
        AND place = (SELECT min(place) FROM placed AS o
                     WHERE o.slice IS NOT DISTINCT FROM p.slice
                       AND o."user" = p."user" AND o.item = p.item)
),
slices AS (
    SELECT slice FROM recs WHERE "user" IS NOT NULL AND item IS NOT NULL
    UNION
    SELECT slice FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL
),
missed AS (
    SELECT slice, "group", "user", item, max(score) - max(value) AS error
    FROM shown
    GROUP BY ALL
    HAVING max(value) IS NOT NULL AND max(chance) > 0 AND max(score) IS NOT NULL
),
sides AS (
    SELECT each.slice, each."group", m.error,
           m."group" = each."group" AS own,
           CASE getvariable('ref_kind')
               WHEN 'value' THEN m."group" = getvariable('ref') AND m."group" <> each."group"
               WHEN 'overall' THEN m."group" IS NOT NULL
               WHEN 'rest' THEN m."group" <> each."group"
           END AS other
    FROM (SELECT z.slice, l."group" FROM slices AS z
          LEFT JOIN (SELECT DISTINCT slice, "group" FROM listed) AS l
              ON l.slice IS NOT DISTINCT FROM z.slice) AS each
    LEFT JOIN missed AS m ON m.slice IS NOT DISTINCT FROM each.slice
),
errors AS (
    SELECT slice,
           sqrt(avg(error * error) FILTER (own)) AS mine,
           sqrt(avg(error * error) FILTER (other)) AS theirs,
           CASE WHEN mine = 0 AND theirs = 0 THEN NULL ELSE mine / theirs END AS ratio
    FROM sides
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL
            THEN CASE WHEN max(mine) > 0 THEN min(mine) / max(mine) END
            ELSE first(ratio ORDER BY round(abs(ln(ratio)), 12) DESC, ratio)
                FILTER (ratio IS NOT NULL)
       END AS value
FROM errors
GROUP BY slice
