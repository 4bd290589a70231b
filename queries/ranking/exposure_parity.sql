-- The mean discounted exposure in a list of an item of a group, compared between groups of items by
-- difference.
-- views: _exposure.sql
-- views: _discounts.sql
-- views: _compared.sql
-- n of: (SELECT z.slice, i.item, i.item_group AS "group" FROM (SELECT DISTINCT slice FROM ranked) AS z, items AS i)
-- n: item IS NOT NULL
WITH worth AS (
    SELECT slice, item_group, discount(coalesce(getvariable('discount'), 'log'), position) AS exposure
    FROM first_k
    WHERE item_group IS NOT NULL
),
groups AS (
    SELECT z.slice, z.lists, g.item_group,
           (SELECT coalesce(sum(exposure), 0) FROM worth AS w
            WHERE w.slice IS NOT DISTINCT FROM z.slice AND w.item_group = g.item_group)
           / (SELECT count(*) FROM items AS i WHERE i.item_group = g.item_group) AS own,
           (SELECT coalesce(sum(exposure), 0) FROM worth AS w
            WHERE w.slice IS NOT DISTINCT FROM z.slice AND in_reference(w.item_group, g.item_group))
           / nullif((SELECT count(*) FROM items AS i
                     WHERE in_reference(i.item_group, g.item_group)), 0) AS reference
    FROM (SELECT slice, count(DISTINCT ("user", "group")) AS lists FROM ranked GROUP BY slice) AS z,
         (SELECT DISTINCT item_group FROM items WHERE item_group IS NOT NULL) AS g
)
SELECT slice, compared_by_difference(own / lists, reference / lists) AS value
FROM groups
GROUP BY slice
